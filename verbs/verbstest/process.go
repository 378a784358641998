package verbstest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"

	"heddle/verbs"
)

// peerVariable is set in the environment of a process that Start made.
const peerVariable = "HEDDLE_VERBSTEST_PEER"

// Main is for the TestMain of a provider's tests. In a process that Start made it
// serves contexts until its parent is gone, and ends the process; else it does
// nothing.
//
//	func TestMain(m *testing.M) {
//		verbstest.Main(open)
//		os.Exit(m.Run())
//	}
func Main(open func() (verbs.Context, error)) {
	if os.Getenv(peerVariable) == "" {
		return
	}
	conn := pipes{os.NewFile(3, "from the parent"), os.NewFile(4, "to the parent")}
	if err := Serve(conn, open); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Start runs this test program again, as a process whose TestMain calls Main. It
// ends with the test.
func Start(tb testing.TB) *Peer {
	tb.Helper()
	childIn, out, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	in, childOut, err := os.Pipe()
	if err != nil {
		tb.Fatal(err)
	}
	cmd := Command(tb, "-test.run", "^$")
	cmd.Env = append(os.Environ(), peerVariable+"=1")
	cmd.ExtraFiles = []*os.File{childIn, childOut}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	for _, f := range cmd.ExtraFiles {
		if err := f.Close(); err != nil {
			tb.Error(err)
		}
	}
	peer := Dial(pipes{in, out})
	tb.Cleanup(func() {
		if err := peer.Close(); err != nil {
			tb.Errorf("close the connection to the peer's process: %v", err)
		}
		if err := cmd.Wait(); err != nil {
			tb.Errorf("the peer's process: %v", err)
		}
	})
	return peer
}

// runnerVariable names the program that runs programs of the tests' machine, such
// as qemu-aarch64, where that is another one than this and the kernel runs none.
const runnerVariable = "HEDDLE_TEST_RUNNER"

// Command is this test program with other arguments, in a process of its own.
func Command(tb testing.TB, args ...string) *exec.Cmd {
	tb.Helper()
	program, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	if runner := os.Getenv(runnerVariable); runner != "" {
		return exec.Command(runner, append([]string{program}, args...)...)
	}
	return exec.Command(program, args...)
}

// pipes are a connection.
type pipes struct {
	io.ReadCloser
	io.WriteCloser
}

func (p pipes) Close() error {
	err := p.WriteCloser.Close()
	if e := p.ReadCloser.Close(); err == nil {
		err = e
	}
	return err
}
