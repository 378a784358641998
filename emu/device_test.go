package emu_test

import (
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
	"heddle/umad"
	"heddle/umad/umadtest"
)

func start(t *testing.T, f *fabric.Fabric, cfg emu.Config) *emu.Live {
	t.Helper()
	live, err := emu.Start(f, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := live.Close(); err != nil {
			t.Error(err)
		}
	})
	return live
}

// do uses the subnet of a live one.
func do(t *testing.T, live *emu.Live, f func(s *emu.Subnet)) {
	t.Helper()
	if err := live.Do(func(s *emu.Subnet) error { f(s); return nil }); err != nil {
		t.Fatal(err)
	}
}

func open(t *testing.T, live *emu.Live, node string) umad.Device {
	t.Helper()
	d, err := live.Open(node, 0)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestDevice holds a port of the subnet against the contract of a device.
func TestDevice(t *testing.T) {
	live := start(t, line(t, 2), emu.Config{})
	do(t, live, func(s *emu.Subnet) {
		p := attach(t, s, "H1")
		p.program(2)
		p.client.Detach()
	})
	umadtest.Run(t, func(t *testing.T) umadtest.Conn {
		return umadtest.Conn{
			Device: open(t, live, "H1"), Peer: open(t, live, "H2"), ToPeer: umad.ToLID(2), ToDevice: umad.ToLID(1),
			Agent: umad.Agent{Class: mad.ClassVendor, Version: 1, Methods: []mad.Method{mad.MethodGet}},
			Other: umad.Agent{Class: mad.ClassSNMP, Version: 1, Methods: []mad.Method{mad.MethodGet}},
		}
	})
}

func TestDeviceInfo(t *testing.T) {
	live := start(t, line(t, 1), emu.Config{})
	do(t, live, func(s *emu.Subnet) {
		p := attach(t, s, "H1")
		p.program(1)
		p.client.Detach()
	})
	d := open(t, live, "H2")
	info, err := d.Info()
	if err != nil {
		t.Fatal(err)
	}
	if info.LID != 2 || info.SMLID != 1 || info.State != mad.PortActive || info.NodeGUID != 0x200 || info.PortGUID != 0x201 || info.Port != 1 {
		t.Errorf("%+v", info)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("second Close: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	live := start(t, line(t, 1), emu.Config{})
	for _, bad := range []struct {
		node string
		port uint8
	}{{"H9", 0}, {"H1", 2}, {"S1", 9}} {
		if _, err := live.Open(bad.node, bad.port); err == nil {
			t.Errorf("port %d of %s is opened", bad.port, bad.node)
		}
	}
	first, second := open(t, live, "H1"), open(t, live, "H1")
	if err := first.SetIsSM(true); err != nil {
		t.Fatal(err)
	}
	if err := second.SetIsSM(true); !errors.Is(err, umad.ErrBusy) {
		t.Errorf("a second manager at a port: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := second.SetIsSM(true); err != nil {
		t.Errorf("after the first has gone: %v", err)
	}
	if err := live.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := live.Open("H1", 0); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Errorf("Close after the end: %v", err)
	}
}

// TestPortInVirtualTime asks through a slow subnet that loses much: a bubble's
// clock moves the subnet's events, and the port's timers.
func TestPortInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live := start(t, line(t, 3), emu.Config{Hop: 100 * time.Microsecond, Agent: time.Millisecond, Seed: 3})
		do(t, live, func(s *emu.Subnet) {
			if err := s.Trouble(emu.Trouble{Drop: 0.05}); err != nil {
				t.Error(err)
			}
		})
		port := umad.NewPort(open(t, live, "H1"))
		defer func() {
			if err := port.Close(); err != nil {
				t.Error(err)
			}
		}()
		var d mad.Datagram
		d.SetHeader(mad.Header{Class: mad.ClassDirected, ClassVersion: 1, Method: mad.MethodGet, Attr: mad.AttrNodeInfo})
		if err := d.SetPath([]uint8{1, 2, 2, 2}); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		for range 100 {
			answer, err := port.Call(t.Context(), &umad.Message{Address: umad.ByRoute(), Data: d[:]}, umad.CallOptions{Retries: 10})
			if err != nil {
				t.Fatal(err)
			}
			if info, err := mad.ParseNodeInfo((*mad.Datagram)(answer.Data).Data()); err != nil || info.NodeGUID != ib.GUID(0x200) {
				t.Fatalf("%+v, %v", info, err)
			}
		}
		// About a third of the requests are lost on eight hops.
		if took := time.Since(begin); took < 5*time.Second || took > 20*time.Second {
			t.Errorf("100 requests took %v", took)
		}
	})
}
