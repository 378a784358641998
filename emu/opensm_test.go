package emu_test

import (
	"log/slog"
	"testing"

	"heddle/emu"
	"heddle/fabric"
	"heddle/fabric/topology"
	"heddle/internal/testenv"
)

func serve(t *testing.T, f *fabric.Fabric, cfg emu.Config) (*emu.Live, string) {
	t.Helper()
	live, err := emu.Start(f, cfg)
	if err != nil {
		t.Fatal(err)
	}
	name := testenv.SocketName(t)
	server, err := live.Serve(name, emu.ServeConfig{Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := live.Close(); err != nil {
			t.Error(err)
		}
	})
	return live, name
}

func TestOpenSM(t *testing.T) {
	f, err := topology.Generate("fat-tree:k=8")
	if err != nil {
		t.Fatal(err)
	}
	live, name := serve(t, f, emu.Config{})
	sm := testenv.StartOpenSM(t, name, "")
	sm.WaitSubnetUp(t)
	live.Do(func(s *emu.Subnet) error { t.Logf("%+v", s.Stats()); return nil })
	t.Log(testenv.Diag(t, name, "", "sminfo"))
}
