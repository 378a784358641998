package sm_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/fabric/topology"
	"heddle/ib"
	"heddle/internal/testenv"
	"heddle/mad"
	"heddle/sa"
	"heddle/sm"
	"heddle/sm/multicast"
	"heddle/umad"
)

// serveSubnet runs a manager of an emulated subnet in real time, to whose sockets
// other programs attach, until the end of the test. It returns when all ports
// are active.
func serveSubnet(t *testing.T, spec string) (r running, sockets string) {
	t.Helper()
	f, err := topology.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	live, err := emu.Start(f, emu.Config{})
	if err != nil {
		t.Fatal(err)
	}
	dev, err := live.Open("", 0)
	if err != nil {
		t.Fatal(err)
	}
	port := umad.NewPort(dev)
	m, err := sm.New(port, sm.Config{
		Unicast: []sm.Unicast{engine(t, "updown")}, Multicast: []multicast.Engine{treeEngine(t, "weave")},
	})
	if err != nil {
		t.Fatal(err)
	}
	sockets = testenv.SocketName(t)
	server, err := live.Serve(sockets, emu.ServeConfig{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- m.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		for _, c := range []interface{ Close() error }{server, port, live} {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	r = running{managed: managed{m, live}}
	r.awaitAnswer(t)
	return r, sockets
}

// awaitAnswer waits until subnet administration answers.
func (r running) awaitAnswer(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	node := r.fabric(t).Node(r.fabric(t).Adapters()[1]).ID
	for r.status(t).Ports[mad.PortActive] == 0 || r.info(t, node).SMLID == 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("the subnet does not come up")
		}
	}
	c := r.client(t, node)
	for {
		if _, err := sa.Get(ctx, c.Client, mad.SMInfoRecord{}, 0); err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatal("subnet administration does not answer")
		}
	}
}

// TestSaquery: single records as saquery of infiniband-diags gets them. A
// preloaded library passes it the first datagram of an answer.
func TestSaquery(t *testing.T) {
	testenv.Peer(t, "saquery")
	r, sockets := serveSubnet(t, "fat-tree:k=4,rate=4xEDR")
	f := r.fabric(t)
	hosts := f.Adapters()
	a, b := f.Node(hosts[3]), f.Node(hosts[9])
	from, to := r.info(t, a.ID), r.info(t, b.ID)
	c := r.client(t, a.ID)
	joined, err := c.Join(t.Context(), mad.MCMemberRecord{MGID: mgid(4), PKey: ib.DefaultPKey, QKey: 0x1234}, sa.MCMemberCreate)
	if err != nil {
		t.Fatal(err)
	}
	leafEnd, _ := f.Leaf(fabric.End{Node: hosts[9], Port: 1})
	leaf := r.info(t, f.Node(leafEnd.Node).ID).LID
	for _, test := range []struct {
		ask  string
		want []string
	}{
		{fmt.Sprint("NR ", to.LID), []string{fmt.Sprint("lid: ", to.LID), fmt.Sprint("port_guid: ", to.PortGUID), "NodeDescription: " + b.Name}},
		{fmt.Sprintf("PIR %d/1", to.LID), []string{fmt.Sprint("EndPortLid: ", to.LID)}},
		{fmt.Sprint("SWIR ", leaf), []string{fmt.Sprint("LID: ", leaf)}},
		{fmt.Sprintf("PR --sgid %v --dgid %v", from.GID(), to.GID()), []string{
			fmt.Sprint("slid: ", from.LID), fmt.Sprint("dlid: ", to.LID), "pkey: 0xFFFF", "rate: 0x90",
		}},
		{fmt.Sprintf("PR --slid %d --dlid %d", from.LID, to.LID), []string{fmt.Sprint("sgid: ", from.GID()), fmt.Sprint("dgid: ", to.GID())}},
		{fmt.Sprintf("LR %d/%d", leaf, leafEnd.Port), []string{fmt.Sprint("ToLID: ", to.LID)}},
		{fmt.Sprintf("LFTR %d/%d", leaf, to.LID/64), []string{fmt.Sprintf("%d %d", to.LID, leafEnd.Port)}},
		{fmt.Sprintf("--smkey 1 PKTR %d/1/0", to.LID), []string{"0xffff"}},
		{"MCMR --mgid " + mgid(4).String(), []string{fmt.Sprint("mlid: ", joined.MLID), "qkey: 0x1234", "PortGid: ::"}},
		{"--smkey 1 MCMR --gid " + from.GID().String(), []string{"MGID: " + mgid(4).String(), "PortGid: " + from.GID().String(), "JoinState: 0x1"}},
		{fmt.Sprintf("SL2VL %d/0/1", to.LID), []string{"0| 1| 2| 3| 4| 5| 6| 7| 0| 1"}},
		{fmt.Sprintf("SL2VL %d/3/%d", leaf, leafEnd.Port), []string{"0| 1| 2| 3| 4| 5| 6| 7| 0| 1"}},
		{fmt.Sprintf("VLAR %d/1/1", to.LID), []string{fmt.Sprint("LID: ", to.LID), "Weight: 4| 4| 4| 4| 4| 4| 4| 4| 0| 0"}},
		{fmt.Sprintf("GIR %d/0", to.LID), []string{fmt.Sprint("LID: ", to.LID), to.PortGUID.String()}},
		{fmt.Sprintf("--smkey 1 PKTR %d/%d/0", leaf, leafEnd.Port), []string{"0xffff"}},
		{"SMIR", []string{"SMState: 3"}},
	} {
		out := testenv.Diag(t, sockets, "", "saquery", strings.Fields(test.ask)...)
		for _, line := range test.want {
			if !strings.Contains(plain(out), plain(line)) {
				t.Errorf("saquery %s: no %q in\n%s", test.ask, line, out)
			}
		}
	}
}

// plain leaves out the dots, colons or spaces between a name and its value, and case.
func plain(s string) string {
	return strings.ToLower(strings.Join(strings.FieldsFunc(s, func(c rune) bool { return strings.ContainsRune(".: \t\n", c) }), ""))
}
