package sa_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"heddle/ib"
	"heddle/internal/testenv"
	"heddle/mad"
	"heddle/sa"
	"heddle/umad"
)

// star is a subnet of three hosts at a switch, for ibsim.
const star = `Switch 8 "sw"
[1]	"h1"[1]
[2]	"h2"[1]
[3]	"h3"[1]

Hca 1 "h1"
[1]	"sw"[1]

Hca 1 "h2"
[1]	"sw"[2]

Hca 1 "h3"
[1]	"sw"[3]
`

// startStar starts ibsim, and OpenSM at the first host.
func startStar(t *testing.T) *testenv.IBSim {
	t.Helper()
	file := filepath.Join(t.TempDir(), "net")
	if err := os.WriteFile(file, []byte(star), 0o644); err != nil {
		t.Fatal(err)
	}
	sim := testenv.StartIBSim(t, file)
	testenv.StartOpenSM(t, sim.Name, "h1").WaitSubnetUp(t)
	return sim
}

// openPort is a port at a node of ibsim.
func openPort(t *testing.T, sim *testenv.IBSim, node string) (*umad.Port, umad.Device, umad.Info) {
	t.Helper()
	device, err := umad.Open("ibsim:" + sim.Name + "/" + node)
	if err != nil {
		t.Fatal(err)
	}
	port := umad.NewPort(device)
	t.Cleanup(func() {
		if err := port.Close(); err != nil {
			t.Error(err)
		}
	})
	info, err := port.Info()
	if err != nil {
		t.Fatal(err)
	}
	return port, device, info
}

// TestOpenSM asks a subnet administration that is not ours.
func TestOpenSM(t *testing.T) {
	port, _, info := openPort(t, startStar(t), "h2")
	client := sa.New(port, sa.Options{})
	t.Run("Get", func(t *testing.T) { testOpenSMGet(t, client, info) })
	t.Run("Query", func(t *testing.T) { testOpenSMQuery(t, client) })
	t.Run("Join", func(t *testing.T) { testOpenSMJoin(t, client, info) })
	t.Run("JoinAll", func(t *testing.T) { testOpenSMJoinAll(t, client, info) })
	t.Run("Subscribe", func(t *testing.T) { testOpenSMSubscribe(t, client) })
	t.Run("Services", func(t *testing.T) { testOpenSMServices(t, client) })
}

// TestTableThroughIBSim has two clients of ibsim run RMPP between them.
func TestTableThroughIBSim(t *testing.T) {
	sim := startStar(t)
	near, _, _ := openPort(t, sim, "h2")
	server, device, info := openPort(t, sim, "h3")
	want := nodes(2000)
	reply := answer{records: attributes(want)}
	serve(t, server, device, func(*umad.Message) answer { return reply })
	client := sa.New(near, sa.Options{Address: &umad.Address{LID: info.LID, QPN: info.QPN, QKey: ib.GSIQKey}})
	got, err := sa.Query(t.Context(), client, mad.NodeRecord{}, 0)
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%d records, want %d, error %v", len(got), len(want), err)
	}
}

func testOpenSMGet(t *testing.T, c *sa.Client, info umad.Info) {
	node, err := sa.Get(t.Context(), c, mad.NodeRecord{LID: info.LID}, mad.NodeRecordLID)
	if err != nil || node.Info.NodeGUID != info.NodeGUID || node.Description.String() != "h2" {
		t.Errorf("own node: %+v, %v", node, err)
	}
	path, err := sa.Get(t.Context(), c, mad.PathRecord{SLID: info.LID, DLID: info.SMLID}, mad.PathRecordSLID|mad.PathRecordDLID)
	if err != nil || path.SGID != info.GID() || path.DLID != info.SMLID {
		t.Errorf("path to the subnet manager: %+v, %v", path, err)
	}
	var typed *umad.StatusError
	_, err = sa.Get(t.Context(), c, mad.NodeRecord{LID: 999}, mad.NodeRecordLID)
	if !errors.As(err, &typed) || typed.Status != mad.StatusSANoRecords {
		t.Errorf("no such node: %v", err)
	}
	_, err = sa.Get(t.Context(), c, mad.NodeRecord{}, 0)
	if !errors.As(err, &typed) || typed.Status != mad.StatusSATooManyRecords {
		t.Errorf("all nodes: %v", err)
	}
}

// testOpenSMQuery gets what ibsim's library lets through of a table.
func testOpenSMQuery(t *testing.T, c *sa.Client) {
	nodes, err := sa.Query(t.Context(), c, mad.NodeRecord{}, 0)
	if !errors.Is(err, sa.ErrCut) || len(nodes) != 1 || !nodes[0].LID.IsUnicast() {
		t.Errorf("%+v, %v", nodes, err)
	}
	nodes, err = sa.Query(t.Context(), c, mad.NodeRecord{LID: 999}, mad.NodeRecordLID)
	if err != nil || len(nodes) != 0 {
		t.Errorf("no such node: %+v, %v", nodes, err)
	}
}

// group makes the record of a new group, which is none of IPoIB.
func group(n uint16) mad.MCMemberRecord {
	g := ib.MustParseMGID("ff12:1234::")
	g[14], g[15] = byte(n>>8), byte(n)
	return mad.MCMemberRecord{MGID: g, QKey: 1, PKey: ib.DefaultPKey}
}

func testOpenSMJoin(t *testing.T, c *sa.Client, info umad.Info) {
	g := group(1)
	var typed *umad.StatusError
	if _, err := c.Join(t.Context(), g, 0); !errors.As(err, &typed) || typed.Status != mad.StatusSAInsufficientFields {
		t.Errorf("join of a group that is not there: %v", err)
	}
	made, err := c.Join(t.Context(), g, sa.MCMemberCreate)
	if err != nil || !made.MLID.IsValid() || made.PortGID != info.GID() {
		t.Fatalf("create: %+v, %v", made, err)
	}
	again, err := c.Join(t.Context(), g, 0)
	if err != nil || again.MLID != made.MLID {
		t.Errorf("join again: %+v, %v", again, err)
	}
	if err := c.Leave(t.Context(), g); err != nil {
		t.Error(err)
	}
	if err := c.Leave(t.Context(), g); !errors.As(err, &typed) {
		t.Errorf("leave again: %v", err)
	}
}

// testOpenSMJoinAll joins the three hosts to each of 300 groups.
func testOpenSMJoinAll(t *testing.T, c *sa.Client, info umad.Info) {
	var ports []ib.GID
	for lid := range ib.LID(4) {
		node, err := sa.Get(t.Context(), c, mad.NodeRecord{LID: lid + 1}, mad.NodeRecordLID)
		if err != nil {
			t.Fatal(err)
		}
		if node.Info.NodeType == mad.NodeCA {
			ports = append(ports, ib.NewGID(info.Prefix, node.Info.PortGUID))
		}
	}
	var all []mad.MCMemberRecord
	for n := range uint16(300) {
		for _, gid := range ports {
			r := group(n + 100)
			r.PortGID = gid
			all = append(all, r)
		}
	}
	mlids := map[ib.MLID]int{}
	start := time.Now()
	err := c.JoinAll(t.Context(), all, sa.MCMemberCreate, func(i int, r mad.MCMemberRecord, err error) {
		if err != nil {
			t.Errorf("join %d: %v", i, err)
		}
		mlids[r.MLID]++
	})
	t.Logf("%d joins in %v", len(all), time.Since(start))
	if err != nil || len(all) != 900 || len(mlids) != 300 {
		t.Errorf("%d joins, %d MLIDs, error %v", len(all), len(mlids), err)
	}
	err = c.LeaveAll(t.Context(), all, func(i int, err error) {
		if err != nil {
			t.Errorf("leave %d: %v", i, err)
		}
	})
	if err != nil {
		t.Error(err)
	}
}

// testOpenSMSubscribe has OpenSM report the groups that come and go.
func testOpenSMSubscribe(t *testing.T, c *sa.Client) {
	reported := make(chan mad.TrapNumber, 10)
	all := mad.InformInfo{IsGeneric: true, Type: mad.InformAll, Trap: mad.TrapAll, Producer: mad.ProducerAll}
	sub, err := c.Subscribe(t.Context(), all, func(n mad.Notice) { reported <- n.Trap })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Join(t.Context(), group(2), sa.MCMemberCreate); err != nil {
		t.Error(err)
	}
	if err := c.Leave(t.Context(), group(2)); err != nil {
		t.Error(err)
	}
	for _, want := range []mad.TrapNumber{66, 67} {
		select {
		case got := <-reported:
			if got != want {
				t.Errorf("report of trap %d, want %d", got, want)
			}
		case <-time.After(10 * time.Second):
			t.Fatalf("no report of trap %d", want)
		}
	}
	if err := sub.Unsubscribe(t.Context()); err != nil {
		t.Error(err)
	}
}

func testOpenSMServices(t *testing.T, c *sa.Client) {
	r := mad.ServiceRecord{ServiceID: 0x1000, ServicePKey: ib.DefaultPKey, ServiceLease: mad.ServiceLeaseForever, ServiceName: mad.NewServiceName("heddle")}
	registered, err := c.Register(t.Context(), r, 0)
	if err != nil || registered.ServiceID != r.ServiceID {
		t.Errorf("register: %+v, %v", registered, err)
	}
	found, err := sa.Get(t.Context(), c, mad.ServiceRecord{ServiceName: r.ServiceName}, mad.ServiceRecordServiceName)
	if err != nil || found.ServiceID != r.ServiceID {
		t.Errorf("find: %+v, %v", found, err)
	}
	if err := c.Unregister(t.Context(), registered); err != nil {
		t.Errorf("unregister: %v", err)
	}
	if _, err := sa.Get(t.Context(), c, mad.ServiceRecord{ServiceName: r.ServiceName}, mad.ServiceRecordServiceName); err == nil {
		t.Error("the service is still there")
	}
}
