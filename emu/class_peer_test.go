package emu_test

import (
	"errors"
	"strings"
	"testing"

	"heddle/emu"
	"heddle/ib"
	"heddle/internal/testenv"
	"heddle/mad"
	"heddle/umad"
)

// TestForeignClasses: OpenSM is not reached by classes that it does not serve,
// one datagram of which ends it under ibsim; the sender is told.
func TestForeignClasses(t *testing.T) {
	s, sm := broughtUp(t, generate(t, "single:hosts=3"), emu.Config{})
	lid := s.lid(t, "")
	for _, p := range []*umad.Port{s.native(t, "host-2"), s.port(t, "host-2")} {
		for _, class := range []mad.Class{0x32, 0x09, 0x0f, mad.ClassCM, mad.ClassBM, 0x7f, 0xff} {
			for _, method := range []mad.Method{mad.MethodGet, mad.MethodSet} {
				checkRefused(t, p, lid, class, method)
			}
			if err := p.Send(ofClass(lid, class, mad.MethodSend)); err != nil {
				t.Error(err)
			}
		}
	}
	out := testenv.Diag(t, s.name, "host-2", "ibping", "-c", "3", "-f", lid.String())
	if !strings.Contains(out, "100% packet loss") {
		t.Errorf("OpenSM answers pings:\n%s", out)
	}
	if out := s.diag(t, "sminfo"); !strings.Contains(out, "SMINFO_MASTER") {
		t.Errorf("OpenSM lives no more: %s", out)
	}
	checkLog(t, sm.Log())
}

func ofClass(lid ib.LID, class mad.Class, method mad.Method) *umad.Message {
	m := &umad.Message{Address: umad.ToLID(lid), Data: make([]byte, mad.Size)}
	m.Datagram().SetHeader(mad.Header{Class: class, ClassVersion: 1, Method: method, Attr: 0x20})
	return m
}

func checkRefused(t *testing.T, p *umad.Port, lid ib.LID, class mad.Class, method mad.Method) {
	t.Helper()
	answer, err := p.Call(t.Context(), ofClass(lid, class, method), umad.CallOptions{})
	if err != nil {
		t.Errorf("%v %v: %v", class, method, err)
		return
	}
	var status *umad.StatusError
	if err := answer.StatusError(); !errors.As(err, &status) || status.Status != mad.StatusBadVersion {
		t.Errorf("%v %v: answered with %v", class, method, err)
	}
}
