package cli_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"heddle/internal/testenv"

	"github.com/rogpeppe/go-internal/testscript"
)

// subnet is two switches with two cables between, and two adapters that have a
// port on each.
const subnet = `Switch	8 "S1"
[1]	"Hca1"[1]
[2]	"Hca2"[1]
[3]	"S2"[3]
[4]	"S2"[4]

Switch	8 "S2"
[1]	"Hca2"[2]
[2]	"Hca1"[2]
[3]	"S1"[3]
[4]	"S1"[4]

Hca	2 "Hca1"
[1]	"S1"[1]
[2]	"S2"[2]

Hca	2 "Hca2"
[1]	"S1"[2]
[2]	"S2"[1]
`

// TestSubnetScripts runs the scripts of testdata/subnet, each on an ibsim of
// its own that OpenSM, at S2, has brought up: SIM is its name, LID_S1 and
// LID_S2 are LIDs. Beside the commands of TestScripts there is
//
//	silence NODE   the agent of the node answers nobody from now on
func TestSubnetScripts(t *testing.T) {
	scripts, err := filepath.Glob(filepath.Join("testdata", "subnet", "*.txt"))
	if err != nil || len(scripts) == 0 {
		t.Fatal(scripts, err)
	}
	for _, script := range scripts {
		t.Run(filepath.Base(script), func(t *testing.T) { runOnSubnet(t, script) })
	}
}

func runOnSubnet(t *testing.T, script string) {
	file := filepath.Join(t.TempDir(), "net")
	if err := os.WriteFile(file, []byte(subnet), 0o644); err != nil {
		t.Fatal(err)
	}
	sim := testenv.StartIBSim(t, file)
	testenv.StartOpenSM(t, sim.Name, "S2").WaitSubnetUp(t)
	vars := map[string]string{
		"SIM": sim.Name, "LID_S1": lidOf(t, sim, "S1"), "LID_S2": lidOf(t, sim, "S2"),
		"GORACE": "atexit_sleep_ms=0", // a second for each command under -race
	}
	silence := func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) != 1 {
			ts.Fatalf("usage: silence NODE")
		}
		sim.Console(t, `Error "`+args[0]+`" 100`)
	}
	testscript.Run(t, testscript.Params{
		Files: []string{script},
		Cmds:  map[string]func(*testscript.TestScript, bool, []string){"status": status, "silence": silence},
		Setup: func(env *testscript.Env) error {
			for name, value := range vars {
				env.Setenv(name, value)
			}
			return nil
		},
	})
}

// lidOf asks ibsim for the LID of a switch.
func lidOf(t *testing.T, sim *testenv.IBSim, node string) string {
	t.Helper()
	dump := sim.Console(t, `Dump "`+node+`"`)
	m := regexp.MustCompile(` lid (\d+) `).FindStringSubmatch(dump)
	if m == nil || m[1] == "0" {
		t.Fatalf("no LID of %s in %s", node, dump)
	}
	return m[1]
}
