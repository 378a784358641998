package emu_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"heddle/emu"
	"heddle/fabric"
	"heddle/fabric/format"
	"heddle/fabric/topology"
	"heddle/ib"
	"heddle/internal/testenv"
	"heddle/umad"
)

// served is a subnet that is served to other processes until the end of the
// test.
type served struct {
	*emu.Live
	server *emu.Server
	name   string // of the sockets
	fabric *fabric.Fabric
}

func serve(t *testing.T, f *fabric.Fabric, cfg emu.Config) *served {
	t.Helper()
	live, err := emu.Start(f, cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := &served{Live: live, name: testenv.SocketName(t), fabric: f}
	s.server, err = live.Serve(s.name, emu.ServeConfig{Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.server.Close(); err != nil {
			t.Error(err)
		}
		if err := live.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// broughtUp is a subnet that OpenSM has brought up, from the first adapter.
func broughtUp(t *testing.T, f *fabric.Fabric, cfg emu.Config, options ...string) (*served, *testenv.OpenSM) {
	t.Helper()
	s := serve(t, f, cfg)
	sm := testenv.StartOpenSM(t, s.name, "", options...)
	sm.WaitSubnetUp(t)
	return s, sm
}

// diag runs a program of infiniband-diags at the first adapter.
func (s *served) diag(t *testing.T, program string, args ...string) string {
	t.Helper()
	return testenv.Diag(t, s.name, "", program, args...)
}

// do is Do of what cannot fail.
func (s *served) do(t *testing.T, f func(*emu.Subnet)) {
	t.Helper()
	if err := s.Do(func(sub *emu.Subnet) error { f(sub); return nil }); err != nil {
		t.Fatal(err)
	}
}

// stats is what the subnet counted.
func (s *served) stats(t *testing.T) (stats emu.Stats) {
	t.Helper()
	s.do(t, func(sub *emu.Subnet) { stats = sub.Stats() })
	return stats
}

// port opens a port of a node, in this process.
func (s *served) port(t *testing.T, node string) *umad.Port {
	t.Helper()
	d, err := s.Open(node, 0)
	if err != nil {
		t.Fatal(err)
	}
	p := umad.NewPort(d)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// lid is the LID that the subnet manager gave to a node.
func (s *served) lid(t *testing.T, node string) ib.LID {
	t.Helper()
	return s.info(t, node, 0).LID
}

// info is that of a port; port 0 is the first that has a cable.
func (s *served) info(t *testing.T, node string, port uint16) umad.Info {
	t.Helper()
	d, err := s.Open(node, uint8(port))
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	info, err := d.Info()
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// named are nodes by their IDs.
func named(f *fabric.Fabric, nodes []fabric.NodeID) (names []string) {
	for _, id := range nodes {
		names = append(names, f.Node(id).ID)
	}
	return names
}

func generate(t *testing.T, spec string) *fabric.Fabric {
	t.Helper()
	f, err := topology.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// published is a topology of the shared data, or where there is none the
// generated one that stands in for it.
func published(t *testing.T, file, standIn string) *fabric.Fabric {
	t.Helper()
	path, ok := testenv.Shared(t, "data", "fabrics", file)
	if !ok {
		t.Logf("%s stands in for %s", standIn, file)
		return generate(t, standIn)
	}
	return read(t, path)
}

func read(t *testing.T, path string) *fabric.Fabric {
	t.Helper()
	text, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	f, _, err := format.Read(text, filepath.Base(path), "")
	if err != nil {
		t.Fatal(err)
	}
	return f
}
