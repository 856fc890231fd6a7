/* Every named obstacle, on machines made of plain files: a folder with fake /proc and /sys. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "machine.h"
#include "sandbox/frames.h"

struct fake {
  char root[64];
};

static void put(const struct fake *f, const char *path, const char *text)
{
  char full[512];
  snprintf(full, sizeof(full), "%s%s", f->root, path);
  for (char *c = full + 1; *c; c++) {
    if (*c != '/')
      continue;
    *c = '\0';
    (void)mkdir(full, 0755);
    *c = '/';
  }
  int fd = open(full, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0644);
  assert_true(fd >= 0);
  assert_int_equal(write(fd, text, strlen(text)), strlen(text));
  close(fd);
}

#define MOUNTINFO                                                                                                      \
  "21 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw\n"                                                                     \
  "22 21 0:20 / /proc rw,nosuid,nodev,noexec - proc proc rw\n"                                                         \
  "23 22 0:33 / /proc/sys/fs/binfmt_misc rw - autofs systemd-1 rw\n"

/* A desktop where all is well. */
static int set_up(void **state)
{
  struct fake *f = malloc(sizeof(*f));
  assert_non_null(f);
  snprintf(f->root, sizeof(f->root), "/tmp/mf-remedy-XXXXXX");
  assert_non_null(mkdtemp(f->root));
  put(f, "/proc/sys/user/max_user_namespaces", "63000\n");
  put(f, "/proc/sys/user/max_net_namespaces", "63000\n");
  put(f, "/proc/sys/kernel/unprivileged_userns_clone", "1\n");
  put(f, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "0\n");
  put(f, "/proc/self/status", "Name:\tmayfly\nNoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n");
  put(f, "/proc/self/attr/current", "unconfined\n");
  put(f, "/proc/self/cgroup", "0::/user.slice/user-1000.slice\n");
  put(f, "/proc/self/mountinfo", MOUNTINFO);
  put(f, "/sys/kernel/security/lsm", "capability,landlock,lockdown,yama,apparmor\n");
  put(f, "/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  *state = f;
  return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
  (void)st;
  (void)type;
  (void)ftw;
  return remove(path);
}

static int tear_down(void **state)
{
  struct fake *f = *state;
  (void)nftw(f->root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
  free(f);
  return 0;
}

/* As an ordinary user, whoever runs the test. */
static struct mf_machine read_machine(const struct fake *f)
{
  struct mf_machine m;
  mf_machine_read(f->root, &m);
  m.is_root = false;
  return m;
}

static const char *remedy(const struct mf_machine *m, const char *step, int sys)
{
  static char text[500];
  memset(text, 'x', sizeof(text));
  mf_machine_remedy(m, step, sys, text, sizeof(text));
  assert_non_null(memchr(text, '\0', sizeof(text)));
  assert_true(text[0] != '\0');
  assert_null(strchr(text, '\n'));
  return text;
}

static void assert_says(const char *text, const char *part)
{
  if (!strstr(text, part))
    fail_msg("'%s' does not say '%s'", text ? text : "", part);
}

static void assert_says_not(const char *text, const char *part)
{
  if (strstr(text, part))
    fail_msg("'%s' says '%s'", text ? text : "", part);
}

static void a_healthy_machine_has_no_obstacle(void **state)
{
  struct mf_machine m = read_machine(*state);
  assert_int_equal(m.zero_namespaces, 0);
  assert_false(m.userns_clone_off);
  assert_false(m.apparmor_restricts);
  assert_string_equal(m.apparmor_profile, "");
  assert_int_equal(m.container, MF_CONTAINER_NONE);
  assert_int_equal(m.seccomp_mode, 0);
  assert_false(m.proc_masked);
  assert_false(m.chrooted);
  assert_false(m.landlock_absent);
  assert_false(m.thp_never);
}

static void missing_files_are_no_obstacle(void **state)
{
  (void)state;
  struct mf_machine m;
  mf_machine_read("/tmp/mf-remedy-there-is-no-such-folder", &m);
  assert_int_equal(m.zero_namespaces, 0);
  assert_false(m.userns_clone_off);
  assert_false(m.chrooted);
  assert_false(m.landlock_absent);
  assert_int_equal(m.container, MF_CONTAINER_NONE);
}

static void user_namespaces_limited_to_zero(void **state)
{
  put(*state, "/proc/sys/user/max_user_namespaces", "0\n");
  struct mf_machine m = read_machine(*state);
  assert_int_equal(m.zero_namespaces, MF_LAYER_USER);
  assert_says(remedy(&m, "unshare user", ENOSPC), "sudo sysctl -w user.max_user_namespaces=15000");
  m.is_root = true; /* it binds root as well */
  assert_says(remedy(&m, "unshare user", ENOSPC), "sudo sysctl -w user.max_user_namespaces=15000");
}

static void another_kind_limited_to_zero(void **state)
{
  put(*state, "/proc/sys/user/max_net_namespaces", "0\n");
  struct mf_machine m = read_machine(*state);
  assert_int_equal(m.zero_namespaces, MF_LAYER_NET);
  assert_says(remedy(&m, "unshare network", ENOSPC), "sudo sysctl -w user.max_net_namespaces=15000");
}

static void namespaces_used_up(void **state)
{
  struct mf_machine m = read_machine(*state);
  assert_says(remedy(&m, "unshare ipc", ENOSPC), "sudo sysctl -w user.max_ipc_namespaces=15000");
}

static void debian_switch(void **state)
{
  put(*state, "/proc/sys/kernel/unprivileged_userns_clone", "0\n");
  struct mf_machine m = read_machine(*state);
  assert_true(m.userns_clone_off);
  assert_says(remedy(&m, "unshare user", EPERM), "sudo sysctl -w kernel.unprivileged_userns_clone=1");
  m.is_root = true; /* root is not meant by it */
  assert_says_not(remedy(&m, "unshare user", EPERM), "unprivileged_userns_clone");
}

static void ubuntu_apparmor(void **state)
{
  put(*state, "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1\n");
  struct mf_machine m = read_machine(*state);
  assert_true(m.apparmor_restricts);
  /* The namespace itself is made; what is refused are the capabilities in it. */
  static const char *const steps[] = { "unshare user", "map user",   "mount private",
                                       "mount root",   "pivot root", "unshare network" };
  for (size_t i = 0; i < MF_ARRAY_N(steps); i++) {
    const char *text = remedy(&m, steps[i], i % 2 ? EACCES : EPERM);
    assert_says(text, "sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0");
    assert_says(text, "profile mayfly /");
    assert_says(text, "flags=(unconfined) {\\n  userns,\\n}");
    assert_says(text, "sudo apparmor_parser -r /etc/apparmor.d/mayfly");
  }
}

static void docker_profile(void **state)
{
  put(*state, "/.dockerenv", "");
  put(*state, "/proc/self/status", "Name:\tmayfly\nSeccomp:\t2\nSeccomp_filters:\t1\n");
  put(*state, "/proc/self/attr/current", "docker-default (enforce)\n");
  struct mf_machine m = read_machine(*state);
  assert_int_equal(m.container, MF_CONTAINER_DOCKER);
  assert_int_equal(m.seccomp_mode, 2);
  assert_string_equal(m.apparmor_profile, "docker-default");
  for (int root = 0; root < 2; root++) {
    m.is_root = root;
    static const int refusals[] = { EPERM, ENOSYS }; /* ENOSYS is what it says to clone3 */
    for (size_t i = 0; i < MF_ARRAY_N(refusals); i++) {
      const char *text = remedy(&m, "unshare user", refusals[i]);
      assert_says(text, "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined "
                        "--security-opt systempaths=unconfined");
    }
    assert_says(remedy(&m, "landlock", EPERM), "docker run --security-opt seccomp=unconfined");
    assert_says(remedy(&m, "close_range", EPERM), "docker run --security-opt seccomp=unconfined");
  }
}

static void docker_apparmor_alone(void **state)
{
  put(*state, "/run/systemd/container", "docker\n");
  put(*state, "/proc/self/attr/apparmor/current", "docker-default (enforce)\n");
  struct mf_machine m = read_machine(*state);
  assert_int_equal(m.container, MF_CONTAINER_DOCKER);
  assert_says(remedy(&m, "mount root", EACCES), "--security-opt apparmor=unconfined");
}

static void a_filter_without_a_known_container(void **state)
{
  put(*state, "/proc/self/status", "Name:\tmayfly\nSeccomp:\t2\n");
  struct mf_machine m = read_machine(*state);
  assert_says(remedy(&m, "unshare pid", EPERM), "a seccomp filter around this process");
}

static void podman(void **state)
{
  put(*state, "/run/.containerenv", "engine=\"podman-4.3.1\"\n");
  put(*state, "/proc/self/status", "Name:\tmayfly\nSeccomp:\t2\n");
  struct mf_machine m = read_machine(*state);
  assert_int_equal(m.container, MF_CONTAINER_PODMAN);
  assert_says(remedy(&m, "unshare user", EPERM), "podman run --security-opt seccomp=unconfined");
}

static void kubernetes(void **state)
{
  put(*state, "/var/run/secrets/kubernetes.io/serviceaccount/token", "x");
  put(*state, "/.dockerenv", "");
  put(*state, "/proc/self/status", "Name:\tmayfly\nSeccomp:\t2\n");
  struct mf_machine m = read_machine(*state);
  assert_int_equal(m.container, MF_CONTAINER_KUBERNETES);
  const char *text = remedy(&m, "unshare user", EPERM);
  assert_says(text, "hostUsers: false");
  assert_says(text, "seccompProfile: {type: Unconfined}");
  assert_says(text, "procMount: Unmasked");
}

static void a_pod_is_known_by_its_cgroup(void **state)
{
  put(*state, "/proc/self/cgroup", "0::/kubepods.slice/kubepods-pod1.slice/cri-1.scope\n");
  assert_int_equal(read_machine(*state).container, MF_CONTAINER_KUBERNETES);
  put(*state, "/proc/self/cgroup", "4:memory:/docker/0123\n0::/docker/0123\n");
  assert_int_equal(read_machine(*state).container, MF_CONTAINER_DOCKER);
}

static void masked_proc(void **state)
{
  put(*state, "/.dockerenv", "");
  put(*state, "/proc/self/mountinfo",
      MOUNTINFO
      "40 22 0:5 /null /proc/kcore rw,nosuid - devtmpfs udev rw\n41 22 0:20 /sys /proc/sys ro - proc proc rw\n");
  struct mf_machine m = read_machine(*state);
  assert_true(m.proc_masked);
  assert_string_equal(m.proc_mask, "/proc/kcore");
  const char *text = remedy(&m, "mount proc", EPERM);
  assert_says(text, "/proc/kcore");
  assert_says(text, "docker run --security-opt systempaths=unconfined");
}

static void a_chroot(void **state)
{
  put(*state, "/proc/self/mountinfo", "22 21 0:20 / /proc rw,nosuid,nodev,noexec - proc proc rw\n");
  struct mf_machine m = read_machine(*state);
  assert_true(m.chrooted);
  m.is_root = true;
  assert_says(remedy(&m, "unshare user", EPERM), "chroot");
  assert_says(remedy(&m, "unshare user", EPERM), "pivot_root");
}

static void landlock_switched_off(void **state)
{
  put(*state, "/sys/kernel/security/lsm", "capability,lockdown,yama,apparmor");
  struct mf_machine m = read_machine(*state);
  assert_true(m.landlock_absent);
  const char *text = remedy(&m, "landlock", EOPNOTSUPP);
  assert_says(text, "lsm=landlock,capability,lockdown,yama,apparmor");
  assert_says(text, "sudo update-grub && sudo reboot");
}

static void landlock_not_built_in(void **state)
{
  put(*state, "/sys/kernel/security/lsm", "");
  struct mf_machine m = read_machine(*state);
  assert_says(remedy(&m, "landlock", ENOSYS), "CONFIG_SECURITY_LANDLOCK=y");
}

static void no_delegated_cgroup(void **state)
{
  struct mf_machine m = read_machine(*state);
  assert_says(remedy(&m, "cgroup", EACCES), "systemd-run --user --scope -p Delegate=yes mayfly");
  m.is_root = true;
  assert_says(remedy(&m, "join cgroup", EACCES), "systemd-run --scope -p Delegate=yes mayfly");
  m.container = MF_CONTAINER_DOCKER;
  assert_says(remedy(&m, "cgroup", EROFS), "--security-opt writable-cgroups=true");
}

static void old_kernels(void **state)
{
  struct mf_machine m = read_machine(*state);
  snprintf(m.kernel, sizeof(m.kernel), "4.19.0");
  assert_says(remedy(&m, "openat2", ENOSYS), "Linux 5.6");
  assert_says(remedy(&m, "close_range", ENOSYS), "Linux 5.9");
  assert_says(remedy(&m, "pidfd", ENOSYS), "4.19.0");
  assert_says(remedy(&m, "seccomp", EINVAL), "CONFIG_SECCOMP_FILTER=y");
  assert_says(remedy(&m, "unshare user", EINVAL), "CONFIG_USER_NS=y");
}

static void huge_pages(void **state)
{
  put(*state, "/sys/kernel/mm/transparent_hugepage/enabled", "always madvise [never]\n");
  struct mf_machine m = read_machine(*state);
  assert_true(m.thp_never);
  assert_says(remedy(&m, "huge pages", EINVAL), "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled");
}

static void the_runtime(void **state)
{
  struct mf_machine m = read_machine(*state);
  assert_says(remedy(&m, "exec python", ENOENT), "scripts/setup-runtime");
  assert_says(remedy(&m, "runtime", 0), "MAYFLY_RUNTIME");
}

static void any_step_has_words(void **state)
{
  struct mf_machine m = read_machine(*state);
  assert_says(remedy(&m, "a step that nobody knows", EPERM), "mayfly doctor");
  assert_says(remedy(&m, "", 0), "mayfly doctor");
  assert_says(remedy(&m, "unshare user", EPERM), "unshare -Ur true");
  assert_says(remedy(&m, "unshare", EPERM), "unshare -Ur true");
  assert_says(remedy(&m, "drop capabilities", EPERM), "capset(2)");
  assert_says(remedy(&m, "rlimits", EPERM), "LimitNPROC=");
  assert_says(remedy(&m, "no_new_privs", EINVAL), "Linux 3.5");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
  const struct CMUnitTest tests[] = {
    T(a_healthy_machine_has_no_obstacle),
    T(missing_files_are_no_obstacle),
    T(user_namespaces_limited_to_zero),
    T(another_kind_limited_to_zero),
    T(namespaces_used_up),
    T(debian_switch),
    T(ubuntu_apparmor),
    T(docker_profile),
    T(docker_apparmor_alone),
    T(a_filter_without_a_known_container),
    T(podman),
    T(kubernetes),
    T(a_pod_is_known_by_its_cgroup),
    T(masked_proc),
    T(a_chroot),
    T(landlock_switched_off),
    T(landlock_not_built_in),
    T(no_delegated_cgroup),
    T(old_kernels),
    T(huge_pages),
    T(the_runtime),
    T(any_step_has_words),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
