package emu_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"heddle/emu"
	"heddle/ib"
)

// livePorts is a running line of one switch with data ports at H1 and H2.
func livePorts(t *testing.T) (live *emu.Live, ports []*emu.Port) {
	t.Helper()
	live, err := emu.Start(line(t, 1), emu.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range []string{"H1", "H2"} {
		p, err := live.Port(name, 1)
		if err != nil {
			t.Fatal(err)
		}
		ports = append(ports, p)
		err = live.Do(func(s *emu.Subnet) error {
			e, err := s.End(name, 1)
			sw, err2 := s.End("S1", 0)
			lid := ib.LID(i + 1)
			return errors.Join(err, err2, s.SetLID(e, lid, 0), s.SetRoute(sw.Node, lid, uint8(lid)))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return live, ports
}

func TestLivePorts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		live, ports := livePorts(t)
		defer live.Close()
		if _, _, _, _, active := ports[0].Address(); active {
			t.Error("active without a manager")
		}
		if err := live.Do(func(s *emu.Subnet) error { s.Activate(18); return nil }); err != nil {
			t.Fatal(err)
		}
		lid, _, _, prefix, active := ports[1].Address()
		if lid != 2 || prefix != ib.DefaultPrefix || !active || ports[1].MTU() != ib.MTU4096 || ports[1].Rate().Gbps() != 200 ||
			ports[1].GUID() != 0x201 || !slices.Equal(ports[1].PKeys(), []ib.PKey{ib.DefaultPKey}) {
			t.Errorf("port: LID %v, prefix %#x, active %v, %v, %v, %v, %v", lid, prefix, active,
				ports[1].MTU(), ports[1].Rate(), ports[1].GUID(), ports[1].PKeys())
		}
		var there, back []uint64
		ports[0].Receive(func(list [][]byte) {
			for _, b := range list {
				back = append(back, numberIn(b))
			}
		})
		ports[1].Receive(func(list [][]byte) { // answers, from within
			for _, b := range list {
				there = append(there, numberIn(b))
				ports[1].Transmit([][]byte{datagram{from: 2, to: 1, number: numberIn(b) + 100}.appendTo(nil)})
			}
		})
		var all [][]byte
		for i := range 10 {
			all = append(all, datagram{from: 1, to: 2, number: uint64(i)}.appendTo(nil))
		}
		ports[0].Transmit(all)
		synctest.Wait()
		if len(there) != 10 || len(back) != 10 || back[9] != 109 {
			t.Errorf("%v there, %v back", there, back)
		}
		ports[1].Receive(nil)
		ports[0].Transmit(all[:3])
		synctest.Wait()
		if len(there) != 10 {
			t.Errorf("%d after the end of Receive", len(there))
		}
		for _, p := range ports {
			if err := errors.Join(p.Close(), p.Close()); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestPortIsTaken until it is closed.
func TestPortIsTaken(t *testing.T) {
	live, ports := livePorts(t)
	defer live.Close()
	if _, err := live.Port("H1", 1); !errors.Is(err, emu.ErrTaken) {
		t.Errorf("a second: %v", err)
	}
	if err := ports[0].Close(); err != nil {
		t.Fatal(err)
	}
	p, err := live.Port("H1", 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(live.Close(), p.Close(), ports[1].Close()); err != nil {
		t.Error(err)
	}
}

// TestPortOverflows: what nobody takes is lost, and counted.
func TestPortOverflows(t *testing.T) {
	live, ports := livePorts(t)
	defer live.Close()
	_ = live.Do(func(s *emu.Subnet) error { s.Activate(18); return nil })
	all := slices.Repeat([][]byte{datagram{from: 1, to: 2}.appendTo(nil)}, 10000)
	ports[0].Transmit(all)
	if n := ports[1].Overflowed(); n == 0 {
		t.Error("nothing is lost")
	}
}
