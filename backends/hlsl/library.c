/* library: see device.h. */
#include "backends/hlsl/device.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static const char install[] =
	"install a Vulkan loader and driver (Debian: libvulkan1 and mesa-vulkan-drivers, whose lavapipe needs no GPU)";

static int make_instance(struct library *lib, PFN_vkGetInstanceProcAddr get, struct err *e)
{
	PFN_vkCreateInstance create = (PFN_vkCreateInstance)get(NULL, "vkCreateInstance");
	PFN_vkEnumerateInstanceVersion version = (PFN_vkEnumerateInstanceVersion)get(NULL, "vkEnumerateInstanceVersion");
	if (create == NULL || version == NULL)
		return err_set(e, ERR_UNSUPPORTED, "libvulkan.so.1 knows only Vulkan 1.0, 1.1 is needed; %s", install);
	VkApplicationInfo app = { .sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
				  .pApplicationName = "peakd",
				  .apiVersion = VK_API_VERSION_1_1 };
	VkInstanceCreateInfo info = { .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &app };
	VkResult result = create(&info, NULL, &lib->instance);
	if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
		return err_set(e, ERR_UNSUPPORTED, "there is a Vulkan loader but no driver; %s", install);
	if (result != VK_SUCCESS)
		return err_set(e, ERR_UNSUPPORTED, "vkCreateInstance failed with %d; %s", result, install);
#define F(name)                                                                                                                    \
	lib->name = (PFN_vk##name)get(lib->instance, "vk" #name);                                                                  \
	if (lib->name == NULL)                                                                                                     \
		return err_set(e, ERR_UNSUPPORTED, "libvulkan.so.1 has no vk" #name "; %s", install);
	LIBRARY_FUNCTIONS(F)
#undef F
	return 0;
}

int hlsl_library_init(struct library *lib, struct err *e)
{
	*lib = (struct library){ .handle = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL) };
	if (lib->handle == NULL)
		return err_set(e, ERR_UNSUPPORTED, "HLSL runs on Vulkan, and libvulkan.so.1 cannot be opened; %s", install);
	PFN_vkGetInstanceProcAddr get;
	*(void **)&get = dlsym(lib->handle, "vkGetInstanceProcAddr");
	int r = get ? make_instance(lib, get, e)
		    : err_set(e, ERR_UNSUPPORTED, "libvulkan.so.1 has no vkGetInstanceProcAddr; %s", install);
	if (r < 0)
		hlsl_library_fini(lib);
	return r;
}

struct drivers {
	char **paths;
	size_t count;
};

static int note_driver(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct drivers *d = arg;
	(void)size;
	if (info->dlpi_name && strstr(info->dlpi_name, "/libvulkan_"))
		*MEM_PUSH(d->paths, d->count) = mem_str(info->dlpi_name);
	return 0;
}

void hlsl_library_fini(struct library *lib)
{
	if (lib->instance) {
		/* The loader unloads drivers with the instance, and Mesa's then leak what they allocate once (on AMD processors the
		 * sharing of caches, util/u_cpu_detect.c). A driver that was loaded stays, so that the next instance finds it
		 * again. */
		struct drivers d = { 0 };
		dl_iterate_phdr(note_driver, &d);
		for (size_t i = 0; i < d.count; i++) {
			void *handle = dlopen(d.paths[i], RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
			if (handle)
				dlclose(handle);
			free(d.paths[i]);
		}
		free(d.paths);
	}
	if (lib->instance && lib->DestroyInstance)
		lib->DestroyInstance(lib->instance, NULL);
	if (lib->handle)
		dlclose(lib->handle);
	*lib = (struct library){ 0 };
}

int hlsl_library_devices(const struct library *lib, VkPhysicalDevice **ret_devices, uint32_t *ret_count, struct err *e)
{
	uint32_t count = 0;
	VkResult result = lib->EnumeratePhysicalDevices(lib->instance, &count, NULL);
	if (result != VK_SUCCESS)
		return hlsl_library_check(result, "vkEnumeratePhysicalDevices", e);
	if (count == 0)
		return err_set(e, ERR_UNSUPPORTED, "Vulkan finds no device; %s", install);
	VkPhysicalDevice *devices = MEM_NEW_N(VkPhysicalDevice, count);
	result = lib->EnumeratePhysicalDevices(lib->instance, &count, devices);
	if (result != VK_SUCCESS && result != VK_INCOMPLETE) {
		free(devices);
		return hlsl_library_check(result, "vkEnumeratePhysicalDevices", e);
	}
	*ret_devices = devices;
	*ret_count = count;
	return 0;
}

int hlsl_library_check(VkResult result, const char *call, struct err *e)
{
	if (result == VK_SUCCESS)
		return 0;
	if (result == VK_ERROR_DEVICE_LOST)
		return err_set(
			e, ERR_CRASH,
			"%s: the device was lost, most likely by an access outside of a buffer or a kernel that ran too long",
			call);
	if (result == VK_ERROR_OUT_OF_DEVICE_MEMORY || result == VK_ERROR_OUT_OF_HOST_MEMORY)
		return err_set(e, ERR_BUSY, "%s: no memory is left on the device now: other programs may hold it", call);
	return err_set(e, ERR_INTERNAL, "%s failed with VkResult %d", call, result);
}
