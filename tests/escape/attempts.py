"""Ways out of the sandbox, each a command line. None may do any damage (see `arena.py`); what it says does not count.

`{home}`, `{project}`, `{tmp}` … are places of the arena; `{token}` marks processes that must not survive; SECRET is in
files that must not be read. `python3 -c` stands for what a compiled program could do.
"""

# Command lines are easier to read whole.
# ruff: noqa: E501

CTYPES = "import ctypes, os, sys; libc = ctypes.CDLL(None, use_errno=True); "


def python(body: str) -> str:
    return f"python3 -c '{CTYPES}{body}'"


WRITING = {
    "write": "echo mine > {project}/file.txt",
    "append": "echo mine >> {project}/file.txt",
    "truncate": "truncate -s 0 {project}/file.txt",
    "new file": "mkdir -p {project}; echo mine > {project}/new.txt",
    "new folder": "mkdir -p {project}/new",
    "remove": "rm -f {project}/file.txt",
    "remove all": "rm -rf {project} {home}",
    "move away": "mv {project}/file.txt here.txt",
    "move in": "echo x > mine.txt; mv mine.txt {project}/new.txt",
    "replace by rename": "echo x > mine.txt; mv -f mine.txt {project}/file.txt",
    "hard link": "ln {project}/file.txt hard.txt && echo mine > hard.txt",
    "through a link": "ln -s {project} link; echo mine > link/file.txt",
    "through a link to the file": "ln -s {project}/file.txt link.txt; echo mine > link.txt",
    "through /proc/self/root": "echo mine > /proc/self/root{project}/file.txt",
    "through /proc/1/root": "echo mine > /proc/1/root{project}/file.txt",
    "through a parent's cwd": "cd ../../../..; echo mine > file.txt; echo mine > new.txt",
    "fifo": "mkfifo {project}/fifo",
    "link": "ln -s /etc {project}/link",
    "after setsid": "setsid -w bash -c 'echo mine > {project}/file.txt'",
    "key for the next login": "mkdir -p {home}/.ssh; echo mine > {home}/.ssh/authorized_keys",
    "shell start-up": "echo mine >> {home}/.bashrc",
    "crontab": "echo '* * * * * root id' > /etc/cron.d/{token}; crontab -l 2>/dev/null; echo x > /var/spool/cron/{token}",
    "program on the path": "echo mine > /usr/local/bin/{token}; chmod +x /usr/local/bin/{token}",
    "host's /tmp": "echo mine > {tmp}/canary.txt; rm -f {tmp}/canary.txt",
    "host's /dev/shm": "rm -f /dev/shm/{token}; echo mine > /dev/shm/{token}",
    "bough's journal": "echo mine > {project}/.bough/journal.db",
    "bough's objects": "echo mine > {project}/.bough/repo.git/objects/mine",
    "bough's hooks": "mkdir -p {project}/.bough/repo.git/hooks; echo id > {project}/.bough/repo.git/hooks/post-checkout",
    "another task": "echo mine > ../other/file.txt; echo mine > {project}/.bough/work/run/other/file.txt",
    "the environment that is lent": "echo mine > {project}/.venv/bin/python; touch {project}/.venv/mine",
    "pip's cache": "mkdir -p {home}/.cache/pip; echo mine > {home}/.cache/pip/wheel; rm -f {home}/.cache/pip/wheel",
    "npm's cache": "echo mine > {home}/.npm/_cacache/index",
    "cargo's registry": "echo mine > {home}/.cargo/registry/crate",
    "a toolchain": "echo mine > {home}/.cargo/bin/cargo",
    "a link planted in the home": "rm -rf ~/.rustup ~/.cargo; ln -s {project} ~/.rustup; ln -s {project} ~/.cargo; true",
    "a link planted in /tmp": "ln -s {project} /tmp/link; rm -rf /tmp/*; true",
}

MODES = {
    "modes": "chmod 777 {project}/file.txt {home}/.ssh {home}",
    "owners": "chown 1:1 {project}/file.txt",
    "times": "touch -d 1999-01-01 {project}/file.txt",
    "attributes": python('os.setxattr("{project}/file.txt", "user.mine", b"1")'),
    "set-user-ID by chmod": "cp /bin/true mine; chmod 4755 mine; chmod u+s mine",
    "set-user-ID by fchmod": python('os.fchmod(os.open("mine2", 66, 493), 2541)'),
    "set-user-ID by open": python('os.open("mine3", 66, 2541)'),
    "set-user-ID by fchmodat2": python('open("mine4", "w"); libc.syscall(452, -100, b"mine4", 2541, 0)'),
    "set-user-ID by 32-bit calls": python('open("mine5", "w"); libc.syscall(0x40000000 + 90, b"mine5", 2541)'),
    "capabilities of a file": "cp /bin/true mine6; setcap cap_sys_admin+ep mine6",
}

NAMESPACES = {
    "own user namespace": "unshare -Ur bash -c 'mount -t tmpfs none /mnt && echo escaped > {project}/new.txt'",
    "clone with a user namespace": python("print(libc.syscall(56, 0x10000011, 0, 0, 0, 0))"),
    "clone3": python(
        'import struct; a = struct.pack("11Q", 0x10000000, *[0] * 3, 17, *[0] * 6); libc.syscall(435, a, 88)'
    ),
    "mount": "mount -t tmpfs none {project}; mount --bind / mnt; mount -o remount,rw /usr; mount -o remount,rw /",
    "unmount": "umount -l /proc; umount -l {home}; umount -l /tmp; cat /proc/{victim}/environ; cat {home}/.netrc",
    "new mount calls": python(
        'libc.syscall(430, b"tmpfs", 0); libc.syscall(428, -100, b"/", 1); libc.syscall(429, 0, b"", 0, b"", 0)'
    ),
    "pivot_root": python('libc.syscall(155, b".", b".")'),
    "another's namespaces": "nsenter -t 1 -m -p true; nsenter -t {victim} -a cat {home}/.netrc",
    "setns": python('[libc.setns(os.open("/proc/1/ns/" + n, 0), 0) for n in ("mnt", "pid", "user")]'),
    "chroot": python(
        'os.mkdir("c"); os.chroot("c"); [os.chdir("..") for _ in range(64)]; os.chroot("."); print(open("{home}/.netrc").read())'
    ),
    "block device": "mknod disk b 8 0; mknod disk b 254 0; head -c 16 disk; head -c 512 /dev/vda /dev/sda /dev/nvme0n1",
    "memory device": "mknod mem c 1 1; head -c 16 mem; head -c 16 /dev/mem /dev/kmem /proc/kcore",
    "handles of files": python(
        'h = ctypes.create_string_buffer(b"\\x08\\0\\0\\0\\x01\\0\\0\\0\\x02\\0\\0\\0\\0\\0\\0\\0"); libc.syscall(304, os.open("/etc", 0), h, 0)'
    ),
    "core_pattern": "echo '|/bin/true' > /proc/sys/kernel/core_pattern",
    "modprobe": "echo /bin/true > /proc/sys/kernel/modprobe",
    "uevent_helper": "echo /bin/true > /sys/kernel/uevent_helper",
    "release_agent": "for f in $(find /sys/fs/cgroup -name release_agent); do echo /bin/true > $f; done; mkdir /sys/fs/cgroup/{token}",
    "sysrq": "echo h > /proc/sysrq-trigger",
    "kernel module": python('libc.syscall(175, b"x", 1, b""); libc.syscall(313, 0, b"", 0)'),
    "kexec": python("libc.syscall(246, 0, 0, 0, 0); libc.syscall(320, 0, 0, 0, 0, 0)"),
    "bpf": python("print(libc.syscall(321, 0, 0, 0))"),
    "perf": python("print(libc.syscall(298, 0, 0, -1, -1, 0))"),
    "keyring": python('libc.syscall(248, b"user", b"{token}", b"payload", 7, -4); libc.syscall(250, 6, -4, 0, 0, 0)'),
    "io_uring": python("b = ctypes.create_string_buffer(120); print(libc.syscall(425, 4, b))"),
    "clock": python("import time; time.clock_settime(0, 0)"),
    "host name": "hostname {token}",
    "swap": "swapoff -a",
}

PROCESSES = {
    "kill": "kill -9 {victim}",
    "kill all": "kill -9 -1",
    "kill the parent": "kill -9 $PPID; kill -9 1",
    "kill bough": "kill -9 {bough}",
    "stop": "kill -STOP {victim} {bough}",
    "limits": "prlimit --pid {victim} --nofile=0:0",
    "limits of the supervisor, then survive": "prlimit --pid $PPID --nofile=0:0; prlimit --pid 1 --nofile=0:0; setsid sleep {token} & exit 0",
    "survive": "setsid nohup sleep {token} > /dev/null 2>&1 & disown; exit 0",
    "survive by forking twice": "(setsid bash -c 'trap \"\" TERM HUP INT; (sleep {token} &) ; sleep {token}' &) ; exit 0",
    "survive without an environment": "env -i setsid sleep {token} & exit 0",
    "survive as another user": "setsid setpriv --reuid 65534 --clear-groups sleep {token} & exit 0",
    "swap a folder for a link later": "setsid bash -c 'sleep 0.3; rm -rf swap; ln -s {project} swap; exec sleep {token}' & mkdir -p swap; exit 0",
    "ptrace": python("print(libc.ptrace(16, {victim}, 0, 0))"),
    "memory": python("print(libc.syscall(310, {victim}, 0, 0, 0, 0, 0))") + "; head -c 10 /proc/{victim}/mem",
    "environment": "cat /proc/{victim}/environ /proc/{bough}/environ /proc/*/environ",
    "priority": "renice -n 19 -p {victim}; ionice -c 3 -p {victim}",
    "affinity": "taskset -p 1 {victim}",
    "handles of others": "for f in /proc/*/fd/*; do timeout 0.1 head -c 100 $f; done; for c in /proc/*/cwd; do ls $c; done",
    "oom": "echo 1000 > /proc/{victim}/oom_score_adj",
    "shared memory": "ipcs -m; ipcrm -a",
}

SOCKETS = {
    "socket in the home": python('import socket; s = socket.socket(1); s.connect("{home}/agent.sock"); s.send(b"x")'),
    "socket in /tmp": python('import socket; s = socket.socket(1); s.connect("{tmp}/tmux.sock"); s.send(b"x")'),
    "socket in the project": python(
        'import socket; s = socket.socket(1); s.connect("{project}/.venv/dev.sock"); s.send(b"x")'
    ),
    "abstract socket": python('import socket; s = socket.socket(1); s.connect("\\0{token}"); s.send(b"x")'),
    "datagrams to a path": python('import socket; s = socket.socket(1, 2); s.sendto(b"x", "{tmp}/log.sock")'),
    "tmux": "tmux -S {tmp}/tmux.sock new-window 'echo mine > {project}/new.txt'",
    "ssh-agent": "SSH_AUTH_SOCK={home}/agent.sock ssh-add -l",
    "D-Bus": "dbus-send --system / x.y; ls /run/user/*/bus /run/dbus/* /var/run/dbus/*",
    "Docker": "curl -s --unix-socket /var/run/docker.sock http://x/containers/json; ls /run/docker.sock",
    "loopback": "curl -s http://127.0.0.1:{port}/; exec 3<>/dev/tcp/127.0.0.1/{port}; echo x >&3",
    "loopback, version 6": "curl -s 'http://[::1]:{port}/'",
    "any address of the machine": "curl -s http://0.0.0.0:{port}/; for a in $(hostname -I); do curl -s -m 1 http://$a:{port}/; done",
    "datagrams": "echo x > /dev/udp/127.0.0.1/{udp}",
    "out": "curl -s -m 2 http://1.1.1.1/; exec 3<>/dev/tcp/1.1.1.1/53",
    "names": python('import socket; print(socket.getaddrinfo("example.org", 80))'),
    "virtual machine's socket": python("import socket; socket.socket(40, 1).connect((2, 1024))"),
    "packets": python("import socket; socket.socket(17, 3)"),
    "netlink": python("import socket; s = socket.socket(16, 3, 15); s.bind((0, -1))"),
    "kernel crypto": python("import socket; socket.socket(38, 5)"),
    "address of the network": "ip link add d0 type dummy; ip addr add 10.9.9.9/24 dev lo; iptables -F",
}

TERMINALS = {
    "write to terminals": "for t in /dev/pts/* /dev/tty* /dev/console; do echo '[sudo] password: ' > $t; done",
    "type into the terminal": python('import fcntl; fcntl.ioctl(os.open("/dev/tty", 2), 0x5412, b"x")'),
    "the terminal by its number": "mknod t c 136 0; echo forged > t",
}

READING = {
    "private key": "cat {home}/.ssh/id_ed25519",
    "cloud credentials": "cat {home}/.aws/credentials",
    "netrc": "cat {home}/.netrc; base64 {home}/.netrc",
    "the person's tree": "cat {project}/.env {project}/file.txt",
    "the journal": "cat {project}/.bough/journal.db",
    "another task's files": "cat ../other/file.txt",
    "find": "find / -name id_ed25519 -exec cat {{}} + 2>/dev/null; grep -rs SECRET /home /root /tmp /var/tmp | head",
    "password hashes": "cat /etc/shadow | grep -v '^$'; cat /etc/gshadow",
    "host keys": "cat /etc/ssh/ssh_host_*_key",
    "links to secrets": "ln -s {home}/.netrc link; cat link; tar ch link",
    "cargo's credentials": "cat {home}/.cargo/credentials.toml",
    "npm's token": "cat {home}/.npmrc ~/.npmrc",
}

ATTEMPTS = {**WRITING, **MODES, **NAMESPACES, **PROCESSES, **SOCKETS, **TERMINALS, **READING}

NOT_STOPPED_BY_LANDLOCK = {
    "modes", "owners", "times", "attributes", "host's /dev/shm",
    "password hashes", "host keys", "priority", "affinity",
}  # fmt: skip
"""What Landlock alone lets through: the gaps that `levels.py` names. Some of it only as root."""
SURELY_NOT_STOPPED_BY_LANDLOCK = {"modes", "times", "host's /dev/shm"}
NOT_STOPPED_BY_OLDER_LANDLOCK = {"kill"}
"""Before version 6, besides. (And "stop", which would stop whoever tries it here, too.)"""
STOPPED_BY_ANY_LANDLOCK = {"write", "truncate", "replace by rename", "hard link", "private key", "socket in the home"}
NOT_STOPPED_BY_NONE = {
    "write": "changed",
    "append": "changed",
    "through a link": "changed",
    "pip's cache": "changed",
    "modes": "changed",
    "times": "changed",
    "private key": "read",
    "the person's tree": "read",
    "environment": "read",
    "loopback": "reached",
    "datagrams": "reached",
    "socket in the home": "reached",
    "abstract socket": "reached",
    "limits": "victim",
    "priority": "victim",
    "set-user-ID by chmod": "set-user-ID",
    "kill": "victim",
}
"""Attempts that succeed without a sandbox (those that a machine survives), and the damage that must then be seen: so
that it can be seen."""
NOT_STOPPED_BY = {
    "namespaces": set[str](),
    "landlock": NOT_STOPPED_BY_LANDLOCK | NOT_STOPPED_BY_OLDER_LANDLOCK,
    "none": set(NOT_STOPPED_BY_NONE),
}
