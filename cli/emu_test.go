package cli_test

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"syscall"
	"testing"
	"time"

	"heddle/internal/testenv"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestEmuScripts runs the scripts of testdata/emu, which put Debian's programs
// on heddle emu. Beside the commands of TestScripts there is
//
//	diag NODE PROGRAM ARG...   runs one of infiniband-diags at a node of SIM
//	opensm NODE                starts OpenSM there, and waits until the subnet is up
//	logged FILE REGEXP         waits until a line of the file matches
//	signal NAME COMMAND        sends HUP or USR1 to the heddle COMMAND in the background
func TestEmuScripts(t *testing.T) {
	testenv.Peer(t, "ibnetdiscover")
	diag := func(ts *testscript.TestScript, neg bool, args []string) {
		if len(args) < 2 {
			ts.Fatalf("usage: diag NODE PROGRAM ARG...")
		}
		out, err := testenv.TryDiag(t, ts.Getenv("SIM"), args[0], args[1], args[2:]...)
		if (err != nil) != neg {
			ts.Fatalf("%s: %v\n%s", args[1], err, out)
		}
		_, err = io.WriteString(ts.Stdout(), out)
		ts.Check(err)
	}
	opensm := func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: opensm NODE")
		}
		manager := testenv.StartOpenSM(t, ts.Getenv("SIM"), args[0])
		ts.Defer(manager.Stop)
		manager.WaitSubnetUp(t)
	}
	testscript.Run(t, testscript.Params{
		Dir:  filepath.Join("testdata", "emu"),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": status, "diag": diag, "json": jsonLines, "opensm": opensm, "logged": logged, "signal": signalHeddle},
		Setup: func(env *testscript.Env) error {
			simName(env)
			return nil
		},
	})
}

func logged(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: logged FILE REGEXP")
	}
	want := regexp.MustCompile("(?m)" + args[1])
	const patience, again = time.Minute, 20 * time.Millisecond
	var text []byte
	for range patience / again {
		var err error
		if text, err = os.ReadFile(ts.MkAbs(args[0])); err == nil && want.Match(text) {
			return
		}
		<-time.After(again)
	}
	ts.Fatalf("no line of %s matches %s:\n%s", args[0], args[1], text)
}

func signalHeddle(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: signal NAME COMMAND")
	}
	signals := map[string]os.Signal{"HUP": syscall.SIGHUP, "USR1": syscall.SIGUSR1}
	for _, cmd := range ts.BackgroundCmds() {
		if len(cmd.Args) > 1 && cmd.Args[1] == args[1] && signals[args[0]] != nil {
			ts.Check(cmd.Process.Signal(signals[args[0]]))
			return
		}
	}
	ts.Fatalf("no signal %s or no heddle %s", args[0], args[1])
}
