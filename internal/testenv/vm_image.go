package testenv

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// init is the first program of the virtual machine. The script's output goes
// to the second serial port; closing it waits until all is out.
const vmInit = `#!/bin/sh
export PATH=/usr/local/bin:/bin HOME=/ LC_ALL=C
/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mount -t tmpfs tmp /tmp
mkdir -p /dev/shm /run
mount -t tmpfs shm /dev/shm
ip link set lo up
stty -F /dev/ttyS1 raw
{
	while read -r module; do insmod "$module" || exit; done </vm/modules &&
		sh -e /vm/script
} >/dev/ttyS1 2>&1 </dev/null
printf '\n` + exitMark + `%s\n' $? >/dev/ttyS1
reboot -f
`

// guestPrograms is where the programs are in the virtual machine.
const guestPrograms = "/usr/local/bin"

// image is the file system that the machine starts with.
func (vm VM) image(tb testing.TB, kernel vmKernel) ([]byte, error) {
	tb.Helper()
	tree := newGuestTree()
	// The shell of busybox would prefer its own programs to those in PATH.
	for guest, program := range map[string]string{"/bin/busybox": "busybox", "/bin/sh": "dash"} {
		if err := tree.addFile(guest, Peer(tb, program)); err != nil {
			return nil, err
		}
	}
	tree.text("/init", 0o755, vmInit)
	tree.text("/vm/script", 0o644, vm.Script+"\n")
	if err := tree.addModules(kernel, vm.Modules); err != nil {
		return nil, err
	}
	for _, program := range vm.Programs {
		host := program
		if !strings.Contains(program, "/") {
			host = Peer(tb, program)
		}
		if err := tree.addFile(path.Join(guestPrograms, filepath.Base(host)), host); err != nil {
			return nil, err
		}
	}
	for guest, host := range vm.Files {
		if err := tree.add(guest, host); err != nil {
			return nil, err
		}
	}
	return tree.archive(), nil
}

// guestTree is a file system of a virtual machine in the making, by path.
type guestTree map[string]guestFile

type guestFile struct {
	mode fs.FileMode
	data []byte // or where a link points to
}

func newGuestTree() guestTree {
	tree := make(guestTree)
	for _, dir := range []string{"/proc", "/sys", "/dev", "/tmp", "/run"} {
		tree.mkdir(dir)
	}
	return tree
}

func (t guestTree) put(guest string, f guestFile) {
	guest = path.Clean("/" + guest)
	t.mkdir(path.Dir(guest))
	t[guest] = f
}

func (t guestTree) mkdir(guest string) {
	for ; guest != "/"; guest = path.Dir(guest) {
		t[guest] = guestFile{mode: fs.ModeDir | 0o755}
	}
}

func (t guestTree) link(guest, target string) {
	t.put(guest, guestFile{mode: fs.ModeSymlink | 0o777, data: []byte(target)})
}

func (t guestTree) text(guest string, mode fs.FileMode, text string) {
	t.put(guest, guestFile{mode: mode, data: []byte(text)})
}

// addModules adds modules and the list by which they are loaded.
func (t guestTree) addModules(kernel vmKernel, names []string) error {
	files, err := kernel.load(names)
	if err != nil {
		return err
	}
	var list strings.Builder
	for _, file := range files {
		guest := "/vm/" + filepath.Base(file)
		if err := t.addFile(guest, file); err != nil {
			return err
		}
		fmt.Fprintln(&list, guest)
	}
	t.text("/vm/modules", 0o644, list.String())
	return nil
}

// add adds a file, or a directory with all that it holds.
func (t guestTree) add(guest, host string) error {
	return filepath.WalkDir(host, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		below, err := filepath.Rel(host, name)
		if err != nil {
			return err
		}
		return t.addFile(path.Join(guest, filepath.ToSlash(below)), name)
	})
}

// addFile adds a file of this machine, what a link points to in place of the
// link, and the shared libraries that it needs, at their own paths.
func (t guestTree) addFile(guest, host string) error {
	data, err := os.ReadFile(host)
	if err != nil {
		return err
	}
	info, err := os.Stat(host)
	if err != nil {
		return err
	}
	t.put(guest, guestFile{mode: info.Mode().Perm(), data: data})
	libraries, err := sharedLibraries(host, data)
	if err != nil {
		return err
	}
	for _, library := range libraries {
		if _, ok := t[library]; ok {
			continue
		}
		data, err := os.ReadFile(library)
		if err != nil {
			return err
		}
		t.put(library, guestFile{mode: 0o755, data: data})
	}
	return nil
}

// sharedLibraries lists the paths of all libraries that a program or library
// needs to start, as the dynamic linker finds them, and of the linker. Files of
// other kinds need none.
func sharedLibraries(host string, data []byte) ([]string, error) {
	if !isDynamic(data) {
		return nil, nil
	}
	out, err := exec.Command("ldd", host).Output()
	if err != nil {
		return nil, fmt.Errorf("ldd %s: %w", host, err)
	}
	var found []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, "not found") {
			return nil, fmt.Errorf("ldd %s: %s", host, strings.TrimSpace(line))
		}
		fields := strings.Fields(line)
		if i := slices.IndexFunc(fields, filepath.IsAbs); i >= 0 {
			found = append(found, fields[i])
		}
	}
	return found, nil
}

// isDynamic tells whether a file is a program or library that the dynamic
// linker has to complete: not a kernel module, and not a static program.
func isDynamic(data []byte) bool {
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		return false
	}
	needed, err := f.ImportedLibraries()
	return err == nil && len(needed) > 0
}
