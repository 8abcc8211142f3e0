/* model: see model.h. */
#include "core/transform/model.h"

#include <stdlib.h>

void model_answer_fini(struct model_answer *a)
{
	free(a->text);
	free(a->model);
	free(a->note);
	*a = (struct model_answer){ 0 };
}
