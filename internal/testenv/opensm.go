package testenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// preload returns the path of the library that turns a program's use of umad
// devices into use of ibsim.
func preload(tb testing.TB) string {
	tb.Helper()
	for _, pattern := range []string{"/usr/lib/*/umad2sim/libumad2sim.so", "/usr/lib*/umad2sim/libumad2sim.so"} {
		if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
			return found[0]
		}
	}
	if testing.Short() {
		tb.Skip("no libumad2sim.so; skipped, as this is go test -short")
	}
	tb.Fatal("no libumad2sim.so below /usr/lib; `make peers` installs it, `go test -short` goes without")
	return ""
}

// onSim has cmd find a node of a simulated subnet instead of devices. It runs
// in a directory of its own, as the preloaded library writes there.
func onSim(tb testing.TB, cmd *exec.Cmd, socketName, node string) {
	tb.Helper()
	cmd.Dir = tb.TempDir()
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+preload(tb), "IBSIM_SOCKNAME="+socketName, "SIM_HOST="+node)
}

// Diag runs one of infiniband-diags' programs at a node of a simulated subnet
// and returns its standard output. The node is an ID or a description, "" the
// first of the subnet. The test fails where the program does.
func Diag(tb testing.TB, socketName, node, program string, args ...string) string {
	tb.Helper()
	out, err := TryDiag(tb, socketName, node, program, args...)
	if err != nil {
		tb.Fatal(err)
	}
	return out
}

// TryDiag is Diag for programs that may fail; the error has what the program
// said.
func TryDiag(tb testing.TB, socketName, node, program string, args ...string) (string, error) {
	tb.Helper()
	cmd := exec.Command(Peer(tb, program), args...)
	onSim(tb, cmd, socketName, node)
	var errs strings.Builder
	cmd.Stderr = &errs
	p := start(tb, cmd)
	p.waitEnd(tb)
	if !cmd.ProcessState.Success() {
		return p.written(), fmt.Errorf("%s %s: %v\n%s%s", program, strings.Join(args, " "), cmd.ProcessState, &errs, p.written())
	}
	return p.written(), nil
}

// OpenSM is a running OpenSM, until the end of the test.
type OpenSM struct {
	// Dir is where it keeps its dumps and its cache.
	Dir string
	p   *process
}

// StartOpenSM starts Debian's OpenSM at a node of a simulated subnet. Each of
// the options is a line of its configuration file: "sweep_interval 1". There
// must be a server at the sockets, or it waits for one forever.
func StartOpenSM(tb testing.TB, socketName, node string, options ...string) *OpenSM {
	tb.Helper()
	sm := &OpenSM{Dir: tb.TempDir()}
	conf := filepath.Join(sm.Dir, "opensm.conf")
	lines := append([]string{
		"log_file stdout", "force_log_flush TRUE", "dump_files_dir " + sm.Dir, "daemon FALSE", "console off",
	}, options...)
	if err := os.WriteFile(conf, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
		tb.Fatal(err)
	}
	cmd := exec.Command(Peer(tb, "opensm"), "-F", conf)
	onSim(tb, cmd, socketName, node)
	cmd.Env = append(cmd.Env, "OSM_CACHE_DIR="+sm.Dir, "OSM_TMP_DIR="+sm.Dir)
	sm.p = start(tb, cmd)
	return sm
}

// WaitLog waits until the log has a text, after that of the last WaitLog, and
// returns the log between them.
func (sm *OpenSM) WaitLog(tb testing.TB, text string) string {
	tb.Helper()
	return sm.p.wait(tb, text)
}

// WaitSubnetUp waits for the end of a sweep that programmed the subnet.
func (sm *OpenSM) WaitSubnetUp(tb testing.TB) {
	tb.Helper()
	sm.WaitLog(tb, "SUBNET UP")
}

// Log is the whole log so far.
func (sm *OpenSM) Log() string { return sm.p.written() }

// PID is the number of OpenSM's process.
func (sm *OpenSM) PID() int { return sm.p.cmd.Process.Pid }

// Stop kills OpenSM before the end of the test.
func (sm *OpenSM) Stop() { sm.p.stop() }
