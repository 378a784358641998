package cli_test

import (
	"io"
	"path/filepath"
	"testing"

	"heddle/internal/testenv"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestEmuScripts runs the scripts of testdata/emu, which put Debian's programs
// on heddle emu. Beside the commands of TestScripts there is
//
//	diag NODE PROGRAM ARG...   runs one of infiniband-diags at a node of SIM
//	opensm NODE                starts OpenSM there, and waits until the subnet is up
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
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": status, "diag": diag, "json": jsonLines, "opensm": opensm},
		Setup: func(env *testscript.Env) error {
			simName(env)
			return nil
		},
	})
}
