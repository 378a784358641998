package umad

import (
	"net"
	"testing"
	"time"

	"heddle/mad"
)

// sink is a device from which nothing comes, and that takes everything.
type sink struct {
	Device
	stop chan struct{}
}

func (s *sink) Features() Features                 { return Features{} }
func (s *sink) Register(Agent) error               { return nil }
func (s *sink) Send(*Message, time.Duration) error { return nil }
func (s *sink) Close() error                       { close(s.stop); return nil }

func (s *sink) Receive(*Message) error {
	<-s.stop
	return net.ErrClosed
}

// FuzzDispatch gives a port that has requests outstanding, and handlers, what a
// stranger made up. Each datagram of the script is its length, its headers, and
// data that does not matter.
func FuzzDispatch(f *testing.F) {
	get := mad.Header{Class: mad.ClassSA, ClassVersion: 2, Method: mad.MethodGetTableResp, TID: 1, Attr: mad.AttrNodeRecord}.AppendTo(nil)
	first := mad.RMPPHeader{Version: 1, Type: mad.RMPPData, Flags: mad.RMPPActive | mad.RMPPFirst, Data1: 1}.AppendTo(get)
	f.Add(append([]byte{255}, first...), false)
	f.Add(append([]byte{0}, get...), true)
	f.Fuzz(func(t *testing.T, script []byte, returned bool) {
		p := NewPort(&sink{stop: make(chan struct{})})
		outstanding := startAll(t, p)
		for len(script) >= 37 {
			d := make([]byte, mad.Size)
			copy(d, script[1:37])
			m := Message{Address: ToLID(7), Data: d[:min(mad.Size, 1+int(script[0]))]}
			if returned {
				m.Err = ErrTimeout
			}
			p.dispatch(&m)
			script = script[37:]
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if *outstanding != 0 || p.table.count != 0 || p.held != 0 || p.strangers != 0 || len(p.transfers) != 0 || len(p.alarms) != 0 {
			t.Fatalf("after Close: %d requests without an end, %d transactions, %d bytes, %d strangers, %d transfers, %d alarms",
				*outstanding, p.table.count, p.held, p.strangers, len(p.transfers), len(p.alarms))
		}
	})
}

// startAll has a port handle and ask everything, with IDs from 1.
func startAll(t *testing.T, p *Port) (outstanding *int) {
	p.table.next = 1
	outstanding = new(int)
	for _, class := range []mad.Class{mad.ClassSA, mad.ClassDirected, mad.ClassPerf} {
		methods := []mad.Method{mad.MethodGet, mad.MethodGetTable, mad.MethodGetMulti, mad.MethodSend}
		a := Agent{Class: class, Version: 2, Methods: methods, RMPP: class == mad.ClassSA}
		err := p.Handle(a, func(m *Message) {
			if m.Reply(mad.StatusOK) == nil {
				_ = p.Send(m)
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, method := range methods[:3] {
			var d mad.Datagram
			d.SetHeader(mad.Header{Class: class, ClassVersion: 2, Method: method, Attr: mad.AttrNodeRecord})
			*outstanding++
			if err := p.Start(&Message{Data: d[:]}, CallOptions{Timeout: time.Hour}, func(*Message, error) { *outstanding-- }); err != nil {
				t.Fatal(err)
			}
		}
	}
	return outstanding
}
