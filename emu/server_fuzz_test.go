package emu_test

import (
	"testing"

	"heddle/emu"
	"heddle/fabric"
	"heddle/fabric/topology"
	"heddle/ib"
	"heddle/ibsim"
	"heddle/internal/testenv"
	"heddle/mad"
)

// besieged is a server with two clients: a good one, whose node has no cable so
// that no packet of others reaches it, and a bad one.
func besieged(f *testing.F) (good *raw, number uint32, bad *raw) {
	f.Helper()
	hosts, err := topology.Generate("single:hosts=3")
	if err != nil {
		f.Fatal(err)
	}
	live, err := emu.Start(hosts, emu.Config{})
	if err != nil {
		f.Fatal(err)
	}
	name := testenv.SocketName(f)
	server, err := live.Serve(name, emu.ServeConfig{})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() {
		server.Close() //nolint:errcheck // what it has to say is said by the clients
		live.Close()   //nolint:errcheck // likewise
	})
	own := hosts.Port(fabric.End{Node: hosts.Adapters()[0], Port: 1}).Link
	if err := live.Do(func(s *emu.Subnet) error { s.CutLink(own); return nil }); err != nil {
		f.Fatal(err)
	}
	good, bad = newRaw(f, name, 1001), newRaw(f, name, 1002)
	return good, good.attach(""), bad
}

// FuzzControl: whatever comes to the server's control socket, its other client
// keeps its place and gets answers.
func FuzzControl(f *testing.F) {
	good, number, bad := besieged(f)
	for what := ibsim.TypeError; what <= ibsim.TypePKeys+1; what++ {
		for _, client := range []uint32{0, number, number + 1, 1<<32 - 1} {
			f.Add(ibsim.NewControl(client, what, ibsim.Connect{ID: bad.id, IsSM: true, Node: "host-2"}).AppendTo(nil))
		}
	}
	f.Add(ibsim.NewControl(number, ibsim.TypeRegister, ibsim.Register{Class: mad.ClassSA}).AppendTo(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		good.t, bad.t = t, t
		bad.say(b[:min(len(b), 1<<16)])
		good.works(number)
	})
}

// FuzzData: whatever an attached client sends, the other gets answers.
func FuzzData(f *testing.F) {
	good, number, bad := besieged(f)
	bad.attach("host-2")
	for _, class := range []mad.Class{mad.ClassLID, mad.ClassDirected, mad.ClassSA, mad.ClassPerf, 0x32} {
		for _, method := range []mad.Method{mad.MethodGet, mad.MethodSet, mad.MethodTrapRepress, mad.MethodGetResp} {
			for attr := mad.AttrNodeDescription; attr < 0x20; attr++ {
				var p ibsim.Packet
				p.SetDLID(ib.PermissiveLID)
				p.SetSLID(ib.PermissiveLID)
				p.MAD().SetHeader(mad.Header{Class: class, ClassVersion: 1, Method: method, TID: 1, Attr: attr})
				f.Add(p[:])
			}
		}
	}
	f.Add([]byte{1})
	f.Fuzz(func(t *testing.T, b []byte) {
		good.t, bad.t = t, t
		if _, err := bad.data.Write(b[:min(len(b), 1<<16)]); err != nil {
			t.Fatal(err)
		}
		good.works(number)
	})
}
