# pages: one man page or completion from the texts of `peakd help` and of `peakd help VERB` for every verb, in one stream. Called by
# pages.sh with `page` (peakd.1, peakd.conf.5, bash, zsh or fish) and `version`.

# --- reading: verbs[i], and of each summary, usage, details, options (names, values, helps) ----------------------------------------

/^usage: peakd VERB/ { next }
/^usage: peakd / {
	verb = $3
	verbs[++count] = verb
	usage[verb] = substr($0, length("usage: peakd ") + 1)
	getline summary[verb]
	getline
	part = "details"
	next
}
verb == "" && /^`peakd VERB --help`/ { statuses = $0; next }
verb == "" && statuses != "" { statuses = statuses " " $0; next }
verb == "" { next }
/^  --/ {
	part = "options"
	n = ++options[verb]
	name[verb, n] = substr($1, 3)
	value[verb, n] = $2 ~ /^[A-Z]/ && index($0, $1 " " $2) == 3 && $0 !~ ("^  " $1 "  ") ? $2 : ""
	text = substr($0, 3 + length($1) + (value[verb, n] != "" ? 1 + length($2) : 0))
	sub(/^ +/, "", text)
	help[verb, n] = text
	next
}
/^Variables of the environment/ { part = "environment"; next }
part == "environment" && /=/ {
	split($1, pair, "=")
	variable[++variables] = pair[1]
	holds[variables] = pair[2]
	text = $0
	sub(/^ *[^ ]* +/, "", text)
	means[variables] = text
	next
}
part == "details" {
	details[verb] = details[verb] $0 "\n"
	# Actions are lines of the details: two spaces, the action, its words or its meaning.
	if (usage[verb] ~ /ACTION/ && /^  [a-z]+ /)
		actions[verb] = actions[verb] " " $1
}

# --- what a value is --------------------------------------------------------------------------------------------------------------

function is_file(v) { return v ~ /^(FILE|DIR|FOLDER)/ }
function takes_files(verb) { return usage[verb] ~ /FILE|FOLDER|DIR/ }

# --- man pages --------------------------------------------------------------------------------------------------------------------

function roff(text)
{
	gsub(/\\/, "\\e", text)
	gsub(/-/, "\\-", text)
	gsub(/'/, "\\(aq", text)
	gsub(/…/, "...", text)
	gsub(/`/, "\\(ga", text)
	return text
}
# A block of lines as they are; a line that begins with a dot or a quote would be a request.
function literal(text,  lines, n, i)
{
	n = split(text, lines, "\n")
	while (n > 0 && lines[n] == "")
		n--
	print ".PP\n.nf"
	for (i = 1; i <= n; i++)
		print (lines[i] ~ /^[.']/ ? "\\&" : "") roff(lines[i])
	print ".fi"
}
function option(dashes, key, val, text)
{
	print ".TP\n\\fB" roff(dashes key) "\\fR" (val == "" ? "" : dashes == "" ? " = " : " ") "\\fI" roff(val) "\\fR"
	print roff(text)
}
function common(key) { return key == "db" || key == "log-level" || key == "help" }
function header(title, section, about)
{
	print ".\\\" Written by packaging/pages.awk from the texts of peakd help."
	print ".TH " title " " section " \"\" \"peakd " version "\" \"peakd\""
	print ".SH NAME\n" about
}
function man_peakd(i, k, v)
{
	header("PEAKD", 1, "peakd \\- makes GPU kernels faster, together with a language model")
	print ".SH SYNOPSIS\n.B peakd\n.I VERB\n[\\fIword\\fR ...] [\\fIoptions\\fR]"
	print ".SH DESCRIPTION"
	print "A daemon that speaks MCP holds kernels and their history in one database. It applies transformations with a model, checks every"
	print "variant, times it and tunes it. Each verb is a client of the daemon of its database, and starts it where none runs."
	print ".SH OPTIONS OF EVERY VERB"
	v = verbs[1]
	for (k = 1; k <= options[v]; k++)
		if (common(name[v, k]))
			option("--", name[v, k], value[v, k], help[v, k])
	print ".SH VERBS"
	for (i = 1; i <= count; i++) {
		v = verbs[i]
		print ".SS peakd " roff(usage[v])
		print roff(summary[v])
		if (details[v] != "")
			literal(details[v])
		for (k = 1; k <= options[v]; k++)
			if (!common(name[v, k]))
				option("--", name[v, k], value[v, k], help[v, k])
	}
	print ".SH EXIT STATUS"
	sub(/.*Exit status: /, "", statuses)
	print roff(statuses)
	print ".SH ENVIRONMENT"
	option("", "PEAKD_DB", "FILE", "the database, where --db is not given; the Unix socket of a daemon works too")
	for (k = 1; k <= variables; k++)
		option("", variable[k], holds[k], means[k])
	print ".SH FILES\n.TP\n.I /etc/peakd/peakd.conf\nsettings of the service, see\n.BR peakd.conf (5)"
	print ".TP\n.I /run/peakd.sock\nthe socket of the service, for members of the group peakd"
	print ".SH SEE ALSO\n.BR peakd.conf (5)\n.PP\nThe folder share/doc/peakd beside the program's has the documentation."
}
function man_conf(k, v)
{
	header("PEAKD.CONF", 5, "peakd.conf \\- settings of the peakd service")
	print ".SH DESCRIPTION"
	print "A line of the file is\n.IP\n.IR OPTION \" = \" VALUE\n.PP\nwhere the option is one of\n.B peakd serve\nwithout its dashes, or a"
	print "variable of the environment. A value goes to the end of the line, without quotes. Empty lines and lines that begin with # do"
	print "not count. Options without a value are yes or no. An option that may be repeated may be repeated here. An option on the command"
	print "line replaces all lines of that option, and a variable that is set already keeps its value.\n.PP"
	print "peakd.service reads\n.IR /etc/peakd/peakd.conf ;\n.B peakd serve \\-\\-config\n.I FILE\nreads another file. A mistake is answered"
	print "with the file, the number of the line and the line, and nothing starts.\n.SH OPTIONS"
	v = "serve"
	for (k = 1; k <= options[v]; k++)
		if (name[v, k] != "help" && name[v, k] != "config")
			option("", name[v, k], (value[v, k] != "" ? value[v, k] : "yes|no"), help[v, k])
	print ".SH VARIABLES"
	for (k = 1; k <= variables; k++)
		option("", variable[k], holds[k], means[k])
	print ".SH EXAMPLE\n.nf\nmodel = default=openai:http://127.0.0.1:8080/v1?model=NAME\ntoken\\-file = /etc/peakd/token\nread\\-only = yes\n.fi"
	print ".SH SEE ALSO\n.BR peakd (1),\n.BR systemd.exec (5)"
}

# --- completion -------------------------------------------------------------------------------------------------------------------

function bash_completion(i, k, v, all, files, values)
{
	print "# bash completion of peakd, written by packaging/pages.awk from the texts of peakd help."
	print "_peakd()\n{\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} options= files= values= actions="
	for (i = 1; i <= count; i++)
		all = all " " verbs[i]
	print "\tif ((COMP_CWORD == 1)) || [[ ${COMP_WORDS[1]} == help ]]; then"
	print "\t\tmapfile -t COMPREPLY < <(compgen -W '" substr(all, 2) " version help' -- \"$cur\")\n\t\treturn\n\tfi"
	print "\tcase ${COMP_WORDS[1]} in"
	for (i = 1; i <= count; i++) {
		v = verbs[i]
		all = files = values = ""
		for (k = 1; k <= options[v]; k++) {
			all = all " --" name[v, k]
			if (is_file(value[v, k]))
				files = files " --" name[v, k]
			else if (value[v, k] != "")
				values = values " --" name[v, k]
		}
		print "\t" v ")\n\t\toptions='" substr(all, 2) "'\n\t\tfiles='" files " '\n\t\tvalues='" values " '\n\t\tactions='" substr(actions[v], 2) "'\n\t\t;;"
	}
	print "\tesac"
	print "\tif [[ $files == *\" $prev \"* ]]; then\n\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")"
	print "\telif [[ $values == *\" $prev \"* ]]; then\n\t\tCOMPREPLY=()"
	print "\telif [[ $cur == -* ]]; then\n\t\tmapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$cur\")"
	print "\telif ((COMP_CWORD == 2)) && [[ $actions ]]; then\n\t\tmapfile -t COMPREPLY < <(compgen -W \"$actions\" -- \"$cur\")"
	print "\telse\n\t\tmapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n\tfi\n}\ncomplete -o filenames -F _peakd peakd"
}
# Text in single quotes.
function quoted(text)
{
	gsub(/'/, "'\\''", text)
	return text
}
function zsh_option(v, k,  text)
{
	text = help[v, k]
	gsub(/\\/, "\\\\", text)
	gsub(/\[/, "\\[", text)
	gsub(/\]/, "\\]", text)
	gsub(/:/, "\\:", text)
	return "'*--" name[v, k] (value[v, k] != "" ? "=" : "") "[" quoted(text) "]" (value[v, k] == "" ? "" : is_file(value[v, k]) ? ":file:_files" : ":" tolower(name[v, k]) ":") "'"
}
function zsh_completion(i, k, v, text)
{
	print "#compdef peakd\n# Written by packaging/pages.awk from the texts of peakd help.\n_peakd()\n{\n\tlocal -a verbs=("
	for (i = 1; i <= count; i++) {
		text = summary[verbs[i]]
		gsub(/:/, "\\:", text)
		print "\t\t'" verbs[i] ":" quoted(text) "'"
	}
	print "\t\t'version:the version'\n\t\t'help:what a verb does'\n\t)"
	print "\tif ((CURRENT == 2)) || [[ $words[2] == help ]]; then\n\t\t_describe verb verbs\n\t\treturn\n\tfi"
	print "\tlocal verb=$words[2]\n\tshift words\n\t((CURRENT--))\n\tcase $verb in"
	for (i = 1; i <= count; i++) {
		v = verbs[i]
		printf "\t%s)\n\t\t_arguments", v
		for (k = 1; k <= options[v]; k++)
			printf " \\\n\t\t\t%s", zsh_option(v, k)
		if (actions[v] != "")
			printf " \\\n\t\t\t'1:action:(%s)'", substr(actions[v], 2)
		print " \\\n\t\t\t'*:word:_files'\n\t\t;;"
	}
	print "\tesac\n}\n_peakd \"$@\""
}
function fish_completion(i, k, v)
{
	print "# fish completion of peakd, written by packaging/pages.awk from the texts of peakd help."
	for (i = 1; i <= count; i++) {
		v = verbs[i]
		print "complete -c peakd -n __fish_use_subcommand -f -a " v " -d '" quoted_fish(summary[v]) "'"
		if (actions[v] != "")
			print "complete -c peakd -n '__fish_seen_subcommand_from " v "' -f -a '" substr(actions[v], 2) "'"
		for (k = 1; k <= options[v]; k++)
			print "complete -c peakd -n '__fish_seen_subcommand_from " v "' -l " name[v, k] \
				(value[v, k] == "" ? "" : is_file(value[v, k]) ? " -r -F" : " -x") " -d '" quoted_fish(help[v, k]) "'"
	}
}
function quoted_fish(text)
{
	gsub(/\\/, "\\\\", text)
	gsub(/'/, "\\'", text)
	return text
}

END {
	if (count < 2 || variables < 2) {
		print "pages.awk: the texts of peakd help look different now" >"/dev/stderr"
		exit 1
	}
	if (page == "peakd.1")
		man_peakd()
	else if (page == "peakd.conf.5")
		man_conf()
	else if (page == "bash")
		bash_completion()
	else if (page == "zsh")
		zsh_completion()
	else
		fish_completion()
}
