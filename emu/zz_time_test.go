package emu_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric/format"
	"heddle/fabric/topology"
	"heddle/internal/testenv"
)

func TestZZTime(t *testing.T) {
	f, err := topology.Generate("fat-tree:k=16")
	if err != nil {
		t.Fatal(err)
	}
	net := filepath.Join(t.TempDir(), "net")
	out, _ := os.Create(net)
	if err := format.Write(out, f, "ibsim"); err != nil {
		t.Fatal(err)
	}
	out.Close()
	for range 3 {
		t.Run("x", func(t *testing.T) {
			live, name := serve(t, f, emu.Config{})
			start := time.Now()
			sm := testenv.StartOpenSM(t, name, "")
			sm.WaitSubnetUp(t)
			d := time.Since(start)
			live.Do(func(s *emu.Subnet) error { t.Logf("ours %v %+v", d, s.Stats()); return nil })
			sm.Stop()
		})
		t.Run("y", func(t *testing.T) {
			sim := testenv.StartIBSim(t, net, "-S", "512")
			start := time.Now()
			sm := testenv.StartOpenSM(t, sim.Name, "")
			sm.WaitSubnetUp(t)
			t.Logf("ibsim %v", time.Since(start))
			sm.Stop()
			sim.Stop()
		})
	}
}
