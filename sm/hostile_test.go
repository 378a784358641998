package sm_test

import (
	"flag"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
	"heddle/sa"
	"heddle/sm"
	"heddle/umad"
)

var hostile = flag.Int("hostile", 1, "how many virtual minutes each hostile client has")

// flood is one way of asking too much: it is called again and again, and sends
// without waiting for answers.
type flood func(h *attacker)

// attacker is a hostile client at a port. The manager tells clients apart by
// their LID: who can forge that of others is counted as them.
type attacker struct {
	*testing.T
	dev     umad.Device
	manager umad.Address
	random  *rand.Rand
	own     ib.GID
	other   ib.GID // of a good client
	n       uint64
}

// ask sends a request to subnet administration.
func (h *attacker) ask(method mad.Method, attr mad.AttrID, mask mad.ComponentMask, record []byte) {
	var d mad.Datagram
	h.n++
	d.SetHeader(mad.Header{Class: mad.ClassSA, ClassVersion: 2, Method: method, Attr: attr, TID: h.n})
	mad.SAHeader{ComponentMask: mask}.AppendTo(d[36:36])
	copy(d[56:], record)
	h.send(&d)
}

func (h *attacker) send(d *mad.Datagram) {
	if err := h.dev.Send(&umad.Message{Address: h.manager, Data: d[:]}, 0); err != nil {
		h.Error(err)
	}
}

func (h *attacker) group() ib.MGID {
	g := ib.MustParseMGID("ff12:a01d::")
	for i := range 8 {
		g[8+i] = byte(h.random.Uint32())
	}
	return g
}

func (h *attacker) join(count uint16, port ib.GID, state mad.JoinState) {
	q := mad.MCMemberRecord{MGID: h.group(), PortGID: port, PKey: ib.DefaultPKey, JoinState: state, MemberCount: count}
	mask := sa.MCMemberCreate | mad.MCMemberRecordMGID | mad.MCMemberRecordPortGID | mad.MCMemberRecordJoinState
	if count > 0 {
		mask |= mad.MCMemberRecordMemberCount
	}
	h.ask(mad.MethodSet, mad.AttrMCMemberRecord, mask, q.AppendTo(nil))
}

var floods = map[string]flood{
	"joins":     func(h *attacker) { h.join(0, h.own, mad.JoinFull) },
	"collected": func(h *attacker) { h.join(1000, h.own, mad.JoinFull) },
	"proxies":   func(h *attacker) { h.join(0, h.other, mad.JoinFull) },
	"leaves of others": func(h *attacker) {
		q := mad.MCMemberRecord{MGID: mgid(1), PortGID: h.other, JoinState: 0xf}
		h.ask(mad.MethodDelete, mad.AttrMCMemberRecord, mad.MCMemberRecordMGID|mad.MCMemberRecordPortGID|mad.MCMemberRecordJoinState, q.AppendTo(nil))
	},
	"subscriptions": func(h *attacker) {
		i := mad.InformInfo{
			IsGeneric: true, Subscribe: true, Type: mad.InformAll, Trap: mad.TrapAll, Producer: mad.ProducerAll,
			LIDRangeBegin: ib.PermissiveLID, QPN: ib.QPN(h.random.Uint32() & 0xffffff),
		}
		h.ask(mad.MethodSet, mad.AttrInformInfo, 0, i.AppendTo(nil))
	},
	"services": func(h *attacker) {
		r := mad.ServiceRecord{ServiceID: h.random.Uint64(), ServiceGID: h.own, ServicePKey: ib.DefaultPKey, ServiceLease: mad.ServiceLeaseForever}
		h.ask(mad.MethodSet, mad.AttrServiceRecord, mad.ServiceRecordServiceID|mad.ServiceRecordServiceGID|mad.ServiceRecordServicePKey|mad.ServiceRecordServiceLease, r.AppendTo(nil))
	},
	"all paths": func(h *attacker) { h.ask(mad.MethodGetTable, mad.AttrPathRecord, 0, nil) },
	"all nodes": func(h *attacker) { h.ask(mad.MethodGetTable, mad.AttrNodeRecord, 0, nil) },
	"nothing found": func(h *attacker) {
		h.ask(mad.MethodGetTable, mad.AttrServiceRecord, mad.ServiceRecordServiceID, make([]byte, 8))
	},
	"several paths": func(h *attacker) {
		q := mad.MultiPathRecord{SGIDs: []ib.GID{h.own}, DGIDs: []ib.GID{h.other}}
		h.ask(mad.MethodGetMulti, mad.AttrMultiPathRecord, mad.MultiPathRecordSGIDCount|mad.MultiPathRecordDGIDCount, q.AppendTo(nil))
	},
	"transfers half done": func(h *attacker) {
		var d mad.Datagram
		h.n++
		d.SetHeader(mad.Header{Class: mad.ClassSA, ClassVersion: 2, Method: mad.MethodGetMulti, Attr: mad.AttrMultiPathRecord, TID: h.n})
		d.SetRMPP(mad.RMPPHeader{Version: mad.RMPPVersion, Type: mad.RMPPData, Flags: mad.RMPPActive | mad.RMPPFirst, Data1: 1, Data2: 1 << 20})
		h.send(&d)
	},
	"noise": func(h *attacker) {
		var d mad.Datagram
		for i := range d {
			d[i] = byte(h.random.Uint32())
		}
		d[0], d[1], d[2], d[3] = 1, uint8(mad.ClassSA), 2, d[3]&0x1f
		h.send(&d)
	},
}

// TestHostileClient: whatever one client floods the manager with, and though it
// takes no answer, another is answered in time, its groups stay, and the memory
// is bounded.
func TestHostileClient(t *testing.T) {
	few := func(c *sm.Config) {
		c.Groups.Limits.Groups, c.Groups.Limits.Proxied, c.Groups.Limits.Pending = 64, 64, 64
	}
	for name, f := range floods {
		t.Run(name, func(t *testing.T) {
			runOn(t, generate(t, "fat-tree:k=4"), emu.Config{Hop: time.Microsecond}, subject{change: few}, func(t *testing.T, r running) {
				burst := 5000
				if name == "all paths" { // the answer is long, and costs what 80 others do
					burst = 300
				}
				r.underAttack(t, f, burst)
			})
		})
	}
}

func (r running) underAttack(t *testing.T, f flood, burst int) {
	hosts := r.fabric(t).Adapters()
	members := []fabric.NodeID{hosts[0], hosts[7], hosts[11]}
	mlid := r.join(t, mgid(1), 0, members...)
	time.Sleep(time.Second)
	h := r.attacker(t, hosts[4], hosts[7])
	before, heap := r.Status().Groups, heapNow()
	good := r.client(t, r.fabric(t).Node(hosts[9]).ID)
	var took []time.Duration
	for range 6 * *hostile { // of ten seconds
		for range burst {
			f(h)
		}
		took = append(took, r.goodWork(t, good)...)
		time.Sleep(10 * time.Second)
	}
	slices.Sort(took)
	if p99 := took[len(took)*99/100]; p99 > 100*time.Millisecond {
		t.Errorf("the good client waits %v (p99), %v at most", p99, took[len(took)-1])
	}
	r.wantSpread(t, mlid, members)
	if n := r.Status().Groups.Groups; n > before.Groups+64 {
		t.Errorf("%d groups, before %d", n, before.Groups)
	}
	if grown := heapNow() - heap; grown > 96<<20 {
		t.Errorf("%d MiB more than before", grown>>20)
	}
	if err := good.port.Close(); err != nil {
		t.Error(err)
	}
	h.dev.Close() //nolint:errcheck // nothing waits for it
	r.change(t, func(s *emu.Subnet) { s.KillNode(hosts[4]) })
	time.Sleep(5 * time.Minute) // collected groups that wait for others end in a minute
	if after := r.Status().Groups; after.Groups > before.Groups || after.Members > before.Members || after.MLIDs > before.MLIDs {
		t.Errorf("without the hostile client %+v, before %+v", after, before)
	}
}

func heapNow() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func (r running) attacker(t *testing.T, at, other fabric.NodeID) *attacker {
	t.Helper()
	f := r.fabric(t)
	dev, err := r.live.Open(f.Node(at).ID, 0)
	if err == nil {
		err = dev.Register(umad.Agent{Class: mad.ClassSA, Version: 2, RMPP: true})
	}
	if err != nil {
		t.Fatal(err)
	}
	info := r.info(t, f.Node(at).ID)
	return &attacker{
		T: t, dev: dev, manager: umad.ToLID(info.SMLID), random: rand.New(rand.NewPCG(4, 4)),
		own: info.GID(), other: r.info(t, f.Node(other).ID).GID(),
	}
}

// goodWork is what an honest client asks for, and how long each answer took.
func (r running) goodWork(t *testing.T, c client) (took []time.Duration) {
	t.Helper()
	own, ctx := r.info(t, r.fabric(t).Node(r.fabric(t).Adapters()[9]).ID).GID(), t.Context()
	for range 10 {
		for what, ask := range map[string]func() error{
			"path": func() error {
				_, err := sa.Get(ctx, c.Client, mad.PathRecord{SGID: own, DGID: own}, mad.PathRecordSGID|mad.PathRecordDGID)
				return err
			},
			"nodes": func() error {
				nodes, err := sa.Query(ctx, c.Client, mad.NodeRecord{}, 0)
				if err == nil && len(nodes) != 36 {
					t.Errorf("%d nodes, want 36", len(nodes))
				}
				return err
			},
			"join": func() error {
				q := joining(mgid(2), mad.JoinFull)
				if _, err := c.Join(ctx, q, sa.MCMemberCreate); err != nil {
					return err
				}
				return c.Leave(ctx, q)
			},
			"service": func() error {
				s := mad.ServiceRecord{ServiceID: 5, ServiceLease: 60, ServicePKey: ib.DefaultPKey, ServiceName: mad.NewServiceName("good")}
				if _, err := c.Register(ctx, s, 0); err != nil {
					return err
				}
				return c.Unregister(ctx, s)
			},
		} {
			start := time.Now()
			if err := ask(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
			took = append(took, time.Since(start))
		}
	}
	return took
}

// TestAllMLIDsTaken: a client that takes every MLID keeps no other one from
// having groups, as those share an MLID.
func TestAllMLIDsTaken(t *testing.T) {
	share := func(c *sm.Config) { c.Groups.Share = true }
	runOn(t, generate(t, "fat-tree:k=4"), emu.Config{MLIDs: 64}, subject{change: share}, func(t *testing.T, r running) {
		hosts := r.fabric(t).Adapters()
		var all []mad.MCMemberRecord
		for n := range byte(200) {
			all = append(all, joining(mgid(n+20), mad.JoinFull))
		}
		r.at(t, hosts[4], func(c client) { joinAll(t, c, all) })
		members := []fabric.NodeID{hosts[0], hosts[7], hosts[11]}
		mlid := r.join(t, mgid(1), 0, members...)
		time.Sleep(2 * time.Second)
		for _, from := range members {
			reached := r.spread(t, mlid, from)
			for _, to := range members {
				if to != from && !slices.Contains(reached, to) {
					t.Errorf("a packet of %d reaches %v, and not %d", from, reached, to)
				}
			}
		}
		if n := r.Status().Groups.MLIDs; n > 64 {
			t.Errorf("%d MLIDs in use, want at most 64", n)
		}
	})
}
