package testenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// VM is a virtual machine that runs a script as root on Debian's kernel and
// nothing else: an amd64 machine of one processor, with the programs of busybox
// and what is added here. It is how tests reach kernel devices that the machine
// they run on lacks, such as RDMA devices made of software.
//
//	output := testenv.VM{
//		Modules:  []string{"crc32_generic", "dummy", "rdma_rxe"},
//		Programs: []string{"rdma", "ibv_devices"},
//		Script:   "ip link add d0 type dummy && rdma link add rxe0 type rxe netdev d0 && ibv_devices",
//	}.Run(t)
type VM struct {
	// Modules are the kernel modules to load, in this order, each with those
	// that it depends on.
	Modules []string
	// Programs are the programs of this machine to take along with their
	// shared libraries: names that Peer finds, or paths. They are in PATH.
	Programs []string
	// Files are further files and directories to take along, from a path in
	// the virtual machine to one of this machine. Shared objects bring the
	// libraries that they need. A program's plug-ins are such files: those of
	// libibverbs are /etc/libibverbs.d and, below /usr/lib, libibverbs.
	Files map[string]string
	// Script is for the shell (dash -e), which stops it at the first command
	// that fails.
	Script string
	// Timeout ends the virtual machine; 0 is three minutes.
	Timeout time.Duration
	// Memory is in MiB; 0 is 512.
	Memory int
}

const (
	defaultTimeout = 10 * time.Minute
	defaultMemory  = 512
	// exitMark stands before the exit status of the script, on a line of its
	// own, after the script's output.
	exitMark = "heddle-vm: exit "
)

// Run boots the machine, runs the script and returns what it printed. The test
// fails where the script fails or does not end in time, and as with Peer where
// QEMU, busybox, a program or the kernel are missing.
func (vm VM) Run(tb testing.TB) string {
	tb.Helper()
	qemu := Peer(tb, "qemu-system-x86_64")
	kernel := findKernel(tb)
	dir := tb.TempDir()
	image, err := vm.image(tb, kernel)
	if err != nil {
		tb.Fatalf("virtual machine: %v", err)
	}
	initrd := filepath.Join(dir, "initrd")
	if err := os.WriteFile(initrd, image, 0o600); err != nil {
		tb.Fatalf("virtual machine: %v", err)
	}
	console := filepath.Join(dir, "console")
	printed, err := vm.boot(tb.Context(), qemu, kernel.image, initrd, console)
	output, status, ok := cutExit(printed)
	if err == nil && ok && status == "0" {
		return output
	}
	messages, _ := os.ReadFile(console) // there is none where QEMU did not start
	tb.Fatalf("virtual machine: %v\n%s\nof the kernel:\n%s", failure(err, status, ok), output, messages)
	return ""
}

// failure says how a run ended that did not end well.
func failure(err error, status string, ok bool) error {
	switch {
	case err != nil:
		return err
	case ok:
		return fmt.Errorf("script ended with status %s", status)
	default:
		return errors.New("ended before the script did")
	}
}

// cutExit cuts the exit status off what the machine printed.
func cutExit(printed string) (output, status string, ok bool) {
	printed = strings.ReplaceAll(printed, "\r\n", "\n")
	i := strings.LastIndex(printed, "\n"+exitMark)
	if i < 0 {
		return printed, "", false
	}
	return printed[:i], strings.TrimSpace(printed[i+1+len(exitMark):]), true
}

// boot runs QEMU until the machine is off and returns what came out of its
// second serial port; the first one, that of the kernel, is written to a file.
func (vm VM) boot(ctx context.Context, qemu, kernel, initrd, console string) (string, error) {
	timeout := vm.Timeout
	if timeout == 0 {
		timeout = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	memory := vm.Memory
	if memory == 0 {
		memory = defaultMemory
	}
	cmd := exec.CommandContext(ctx, qemu,
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		"-accel", "tcg", "-cpu", "max", "-m", fmt.Sprint(memory),
		"-kernel", kernel, "-initrd", initrd,
		"-append", "console=ttyS0 quiet panic=-1 mitigations=off rdinit=/init",
		"-chardev", "file,id=console,path="+console, "-serial", "chardev:console",
		"-chardev", "stdio,id=script,signal=off", "-serial", "chardev:script")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("not done after %v: %w", timeout, ctx.Err())
	case err != nil:
		err = fmt.Errorf("%s: %w\n%s", qemu, err, stderr.String())
	}
	return stdout.String(), err
}
