package umad_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"heddle/ib"
	"heddle/mad"
	"heddle/umad"
	"heddle/umad/umadtest"
)

// TestUnsupported is a request that nobody handles: case S6.
func TestUnsupported(t *testing.T) {
	tests := []struct {
		name   string
		change func(h *mad.Header)
		method mad.Method // of the answer, 0 for none
		status mad.Status
	}{
		{"handled", func(h *mad.Header) {}, mad.MethodGetResp, mad.StatusOK},
		{"class", func(h *mad.Header) { h.Class = mad.ClassSNMP }, mad.MethodGetResp, mad.StatusBadVersion},
		{"class version", func(h *mad.Header) { h.ClassVersion = 9 }, mad.MethodGetResp, mad.StatusBadVersion},
		{"method", func(h *mad.Header) { h.Method = mad.MethodGetTable }, mad.MethodGetTableResp, mad.StatusBadMethod},
		{"unknown method", func(h *mad.Header) { h.Method = 0x3f }, 0xbf, mad.StatusBadMethod},
		{"directed", func(h *mad.Header) { h.Class = mad.ClassDirected }, mad.MethodGetResp, mad.StatusBadVersion},
		{"trap", func(h *mad.Header) { h.Method = mad.MethodTrap }, 0, 0},
		{"send", func(h *mad.Header) { h.Method = mad.MethodSend }, 0, 0},
		{"answer", func(h *mad.Header) { h.Method = mad.MethodGetResp }, 0, 0},
		{"answer to a trap", func(h *mad.Header) { h.Method = mad.MethodTrapRepress }, 0, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var sent []*umad.Message
			o := umadtest.Options{Drop: func(_ *umadtest.Device, m *umad.Message) bool {
				sent = append(sent, m.Clone())
				return true
			}}
			inBubble(t, o, func(t *testing.T, p ports) {
				req := request(test.change)
				_ = p.far.Register(umad.Agent{Class: req.Datagram().Class(), Version: 1})
				p.far.Inject(req)
				synctest.Wait()
				if test.method == 0 {
					if len(sent) != 0 {
						t.Errorf("answered by %s", sent[0].Datagram().Method())
					}
					return
				}
				if len(sent) != 1 {
					t.Fatalf("%d answers", len(sent))
				}
				want := req.Datagram().Header()
				want.Method, want.Status = test.method, test.status
				got := sent[0].Datagram()
				if want.Class == mad.ClassDirected {
					want.Status |= 0x8000
				}
				if diff := cmp.Diff(want, got.Header()); diff != "" {
					t.Errorf("answer (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestGarbage is what a device should not deliver.
func TestGarbage(t *testing.T) {
	inBubble(t, umadtest.Options{}, func(t *testing.T, p ports) {
		lengths := []int{0, 1, 23, 24, 36, 255}
		for _, n := range lengths {
			p.far.Inject(&umad.Message{Data: request().Data[:n]})
		}
		p.far.Inject(&umad.Message{Data: make([]byte, 20), Err: umad.ErrTimeout})
		synctest.Wait()
		if got := p.server.Stats(); got.Handled != 0 || got.Malformed != uint64(len(lengths)+1) {
			t.Errorf("stats %+v", got)
		}
		if _, err := p.client.Call(t.Context(), request(), umad.CallOptions{}); err != nil {
			t.Errorf("after the garbage: %v", err)
		}
	})
}

func TestHandleTwice(t *testing.T) {
	inBubble(t, umadtest.Options{}, func(t *testing.T, p ports) {
		unused := func(*umad.Message) { t.Error("called") }
		if err := p.server.Handle(agent, unused); !errors.Is(err, umad.ErrClassTaken) {
			t.Errorf("second handler: %v", err)
		}
		other := umad.Agent{Class: agent.Class, Version: agent.Version, Methods: []mad.Method{mad.MethodTrap}}
		if err := p.server.Handle(other, unused); err != nil {
			t.Errorf("handler of another method: %v", err)
		}
		_ = p.far.Register(umad.Agent{Class: mad.ClassCM, Methods: []mad.Method{mad.MethodSend}})
		taken := umad.Agent{Class: mad.ClassCM, Version: 2, Methods: []mad.Method{mad.MethodSend}}
		if err := p.server.Handle(taken, unused); !errors.Is(err, umad.ErrClassTaken) {
			t.Errorf("handler of a class that the device refuses: %v", err)
		}
		if _, err := p.client.Call(t.Context(), request(), umad.CallOptions{}); err != nil {
			t.Errorf("the first handler: %v", err)
		}
	})
}

func TestSetIsSMAndInfo(t *testing.T) {
	inBubble(t, umadtest.Options{}, func(t *testing.T, p ports) {
		if err := p.client.SetIsSM(true); err != nil || !p.near.IsSM() {
			t.Errorf("SetIsSM: %v, the device has %v", err, p.near.IsSM())
		}
		info, err := p.client.Info()
		if err != nil || info.LID != 1 || info.GID() != ib.NewGID(ib.DefaultPrefix, info.PortGUID) {
			t.Errorf("info %+v, error %v", info, err)
		}
	})
}

func TestStatusError(t *testing.T) {
	tests := []struct {
		class  mad.Class
		status mad.Status
		want   string
	}{
		{mad.ClassPerf, mad.StatusOK, ""},
		{mad.ClassPerf, mad.StatusBadMethod, "PerfMgt GetResp PortCounters: status 0x0008: method not supported"},
		{mad.ClassSA, mad.StatusSANoRecords, "SubnAdm GetResp PortInfoRecord: status 0x0300: no records"},
		{mad.ClassSA, mad.StatusSADenied | mad.StatusBusy, "SubnAdm GetResp PortInfoRecord: status 0x0701: request denied, busy"},
		{mad.ClassDirected, mad.StatusBadField, "SubnDirected GetResp SwitchInfo: status 0x001c: invalid value in attribute or modifier"},
	}
	for _, test := range tests {
		m := request(func(h *mad.Header) { h.Class = test.class })
		if err := m.Reply(test.status); err != nil {
			t.Fatal(err)
		}
		err := m.StatusError()
		var typed *umad.StatusError
		if (err == nil) != (test.want == "") || err != nil && (err.Error() != test.want || !errors.As(err, &typed) || typed.Status != test.status) {
			t.Errorf("%s %s: %v, want %q", test.class, test.status, err, test.want)
		}
	}
}

// TestVendors are two handlers of one class, of two vendors.
func TestVendors(t *testing.T) {
	inBubble(t, umadtest.Options{}, func(t *testing.T, p ports) {
		methods := map[uint32]mad.Method{0x1405: mad.MethodGet, 0x2c9: mad.MethodSet} // the double knows no OUI
		for oui, method := range methods {
			a := umad.Agent{Class: 0x32, Version: 1, OUI: oui, RMPP: true, Methods: []mad.Method{method}}
			err := p.server.Handle(a, func(m *umad.Message) {
				_ = m.Reply(mad.StatusOK)
				m.Data[64] = byte(oui)
				_ = p.server.Send(m)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		for oui, method := range methods {
			req := request(func(h *mad.Header) { h.Class, h.Method = 0x32, method })
			req.Data[37], req.Data[38], req.Data[39] = byte(oui>>16), byte(oui>>8), byte(oui)
			m, err := p.client.Call(t.Context(), req, umad.CallOptions{})
			if err != nil || m.Datagram().Status() != mad.StatusOK || m.Data[64] != byte(oui) {
				t.Errorf("OUI %#x: %v, %v", oui, m, err)
			}
		}
	})
}
