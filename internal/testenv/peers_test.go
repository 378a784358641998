package testenv

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const net = `Switch	4 "Switch1"
[1]	"Hca1"[1]
[2]	"Hca2"[1]

Hca	1 "Hca1"
[1]	"Switch1"[1]

Hca	1 "Hca2"
[1]	"Switch1"[2]
`

// TestPeersOnIBSim has OpenSM bring a subnet up, and once more after a link
// was cut, and a diagnostic program read it.
func TestPeersOnIBSim(t *testing.T) {
	file := filepath.Join(t.TempDir(), "net")
	if err := os.WriteFile(file, []byte(net), 0o644); err != nil {
		t.Fatal(err)
	}
	sim := StartIBSim(t, file)
	sm := StartOpenSM(t, sim.Name, "Hca1", "sweep_interval 1")
	sm.WaitSubnetUp(t)
	if out := Diag(t, sim.Name, "Hca2", "sminfo"); !strings.Contains(out, "SMINFO_MASTER") {
		t.Errorf("sminfo says %q", out)
	}
	if out := Diag(t, sim.Name, "Hca2", "ibnetdiscover"); strings.Count(out, "Ca\t") != 2 {
		t.Errorf("ibnetdiscover says\n%s", out)
	}
	for range 2 {
		if out := sim.Console(t, `Dump "Hca2"`); !strings.HasPrefix(out, "# Net status") || strings.Count(out, "Hca2") != 1 {
			t.Errorf("Dump says %q", out)
		}
	}
	sim.Console(t, `Unlink "Switch1"[2]`)
	sm.WaitSubnetUp(t)
	if !strings.Contains(sm.Log(), "OpenSM 3.") {
		t.Errorf("the log is\n%s", sm.Log())
	}
	if out, err := TryDiag(t, sim.Name, "Hca1", "smpquery", "nodeinfo", "77"); err == nil {
		t.Errorf("smpquery of no node succeeds: %s", out)
	}
	if files, err := os.ReadDir(sm.Dir); err != nil || len(files) < 2 {
		t.Errorf("OpenSM keeps its files elsewhere: %v, %v", files, err)
	}
}
