package sm_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"heddle/emu"
	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
	"heddle/sa"
	"heddle/sm"
	"heddle/sm/partition"
	"heddle/sm/store"
	"heddle/umad"
)

// joining is a request to join a group, which may not exist yet.
func joining(g ib.MGID, state mad.JoinState) mad.MCMemberRecord {
	return mad.MCMemberRecord{MGID: g, QKey: 1, PKey: ib.DefaultPKey, JoinState: state}
}

// at lets a client at a host do something.
func (r running) at(t *testing.T, host fabric.NodeID, f func(c client)) {
	t.Helper()
	c := r.client(t, r.fabric(t).Node(host).ID)
	f(c)
	if err := c.port.Close(); err != nil {
		t.Error(err)
	}
}

// wantStatus expects a refusal.
func wantStatus(t *testing.T, what string, err error, want mad.Status) {
	t.Helper()
	var refused *umad.StatusError
	if !errors.As(err, &refused) || refused.Status != want {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

// TestM1PartialLeaves joins as a full and send-only-full member at once, and
// leaves as each for itself: nothing stays, however often, and in the end the
// same number of MLIDs is in use as before.
func TestM1PartialLeaves(t *testing.T) {
	const rounds = 1100
	run(t, "fat-tree:k=4", emu.Config{MLIDs: 64}, func(t *testing.T, r running) {
		hosts := r.fabric(t).Adapters()
		before := r.Status().Groups
		r.at(t, hosts[3], func(c client) {
			for n := range rounds {
				q := joining(mgid(byte(n)), mad.JoinFull|mad.JoinSendOnlyFull)
				if _, err := c.Join(t.Context(), q, sa.MCMemberCreate); err != nil {
					t.Fatalf("round %d: %v", n, err)
				}
				for _, state := range []mad.JoinState{mad.JoinFull, mad.JoinSendOnlyFull} {
					q.JoinState = state
					if err := c.Leave(t.Context(), q); err != nil {
						t.Fatalf("round %d: leave %v: %v", n, state, err)
					}
				}
				time.Sleep(50 * time.Millisecond)
			}
		})
		time.Sleep(5 * time.Second)
		if diff := cmp.Diff(before, r.Status().Groups); diff != "" {
			t.Errorf("after %d rounds (-before +after):\n%s", rounds, diff)
		}
	})
}

// narrow is a device that makes believe that ports of a number carry 2048 bytes
// only.
type narrow struct {
	umad.Device
	port uint32
}

func (n narrow) Receive(m *umad.Message) error {
	if err := n.Device.Receive(m); err != nil {
		return err
	}
	d := m.Datagram()
	if d.Class() != mad.ClassDirected || d.Method() != mad.MethodGetResp || d.Attr() != mad.AttrPortInfo || d.Modifier()&0xff != n.port {
		return nil
	}
	if info, err := mad.ParsePortInfo(d.Data()); err == nil {
		info.MTUCap = ib.MTU2048
		info.AppendTo(d.Data()[:0])
	}
	return nil
}

// TestM2NarrowLink refuses a port whose link carries less than the group's MTU,
// though the port itself could carry it.
func TestM2NarrowLink(t *testing.T) {
	f := generate(t, "fat-tree:k=4")
	const leafPort = 4
	wrap := func(d umad.Device) umad.Device { return narrow{d, leafPort} }
	runOn(t, f, emu.Config{}, subject{wrap: wrap}, func(t *testing.T, r running) {
		wide, slow := fabric.NoNode, fabric.NoNode
		for _, host := range f.Adapters() {
			if leaf, _ := f.Leaf(fabric.End{Node: host, Port: 1}); leaf.Port == leafPort {
				slow = host
			} else {
				wide = host
			}
		}
		q := joining(mgid(1), mad.JoinFull)
		q.MTUSelector, q.MTU = mad.SelectExactly, ib.MTU4096
		mask := sa.MCMemberCreate | mad.MCMemberRecordMTUSelector | mad.MCMemberRecordMTU
		r.at(t, wide, func(c client) {
			if got, err := c.Join(t.Context(), q, mask); err != nil || got.MTU != ib.MTU4096 {
				t.Errorf("the first: MTU %v, %v", got.MTU, err)
			}
		})
		r.at(t, slow, func(c client) {
			_, err := c.Join(t.Context(), q, mask)
			wantStatus(t, "a link of 2048 bytes", err, mad.StatusSARequestInvalid)
			_, err = c.Join(t.Context(), joining(mgid(1), mad.JoinFull), 0)
			wantStatus(t, "the same, without a wish", err, mad.StatusSARequestInvalid)
			if got, err := c.Join(t.Context(), joining(mgid(2), mad.JoinFull), sa.MCMemberCreate); err != nil || got.MTU != ib.MTU2048 {
				t.Errorf("its own group: MTU %v, %v", got.MTU, err)
			}
		})
	})
}

// TestM3OneMember: one member alone has no entry in any switch, the second one
// brings them, and with it they go.
func TestM3OneMember(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		hosts := r.fabric(t).Adapters()
		mlid := r.join(t, mgid(1), 0, hosts[2])
		time.Sleep(time.Second)
		r.expectNothing(t, mlid)
		r.join(t, mgid(1), 0, hosts[13])
		time.Sleep(time.Second)
		if got := r.spread(t, mlid, hosts[2]); !slices.Equal(got, hosts[13:14]) {
			t.Errorf("a packet reaches %v, want %v", got, hosts[13])
		}
		r.at(t, hosts[2], func(c client) {
			if err := c.Leave(t.Context(), joining(mgid(1), mad.JoinFull)); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(time.Second)
		r.expectNothing(t, mlid)
	})
}

// TestM4Ring: in a ring each member is reached once, and nothing goes round.
func TestM4Ring(t *testing.T) {
	run(t, "ring:n=4", emu.Config{}, func(t *testing.T, r running) {
		hosts := r.fabric(t).Adapters()
		members := []fabric.NodeID{hosts[0], hosts[2]}
		mlid := r.join(t, mgid(1), 0, members...)
		all := r.join(t, mgid(2), 0, hosts...)
		time.Sleep(time.Second)
		r.wantSpread(t, mlid, members)
		r.wantSpread(t, all, hosts)
	})
}

// wantSpread expects that what any member sends comes to each other one once.
func (r running) wantSpread(t *testing.T, mlid ib.MLID, members []fabric.NodeID) {
	t.Helper()
	for _, from := range members {
		want := slices.DeleteFunc(slices.Clone(members), func(n fabric.NodeID) bool { return n == from })
		if got := r.spread(t, mlid, from); !slices.Equal(got, want) {
			t.Errorf("MLID %v: a packet of %d reaches %v, want %v", mlid, from, got, want)
		}
	}
}

// TestM5SolicitedNodes: only IPv6 solicited-node groups of one partition and
// scope that differ in their last 24 bits share an MLID.
func TestM5SolicitedNodes(t *testing.T) {
	share := func(c *sm.Config) { c.Groups.ShareSolicitedNode = true }
	runOn(t, generate(t, "single:hosts=4"), emu.Config{}, subject{change: share}, func(t *testing.T, r running) {
		mlids := map[string]ib.MLID{}
		r.at(t, r.fabric(t).Adapters()[1], func(c client) {
			for _, addr := range []string{"ff02::1:ff00:1", "ff02::1:ff12:3456", "ff02::1:fe00:1", "ff02::2", "239.0.0.1"} {
				g, err := ib.IPoIBMGID(ib.ScopeLinkLocal, ib.DefaultPKey, netip.MustParseAddr(addr))
				if err != nil {
					t.Fatal(err)
				}
				q := mad.MCMemberRecord{MGID: g, QKey: 0xb1b, PKey: ib.DefaultPKey}
				got, err := c.Join(t.Context(), q, sa.MCMemberCreate)
				if err != nil {
					t.Fatalf("%s: %v", addr, err)
				}
				mlids[addr] = got.MLID
			}
		})
		if mlids["ff02::1:ff00:1"] != mlids["ff02::1:ff12:3456"] {
			t.Errorf("solicited-node groups do not share: %v", mlids)
		}
		distinct := map[ib.MLID]bool{}
		for _, mlid := range mlids {
			distinct[mlid] = true
		}
		if len(distinct) != 4 {
			t.Errorf("%d MLIDs, want 4: %v", len(distinct), mlids)
		}
	})
}

// TestM6Partitions: a member needs the group's P_Key, of which one of both has
// to be the full one, and the subnet's own prefix.
func TestM6Partitions(t *testing.T) {
	f := generate(t, "single:hosts=4")
	hosts := f.Adapters()
	guid := func(i int) ib.GUID { return f.Port(fabric.End{Node: hosts[i], Port: 1}).GUID }
	text := fmt.Sprintf("Default=0x7fff,ipoib:ALL=full;\nA=0x2a00:%#x=full,%#x=limited,%#x=limited;", uint64(guid(1)), uint64(guid(2)), uint64(guid(3)))
	parts, faults, err := partition.Read(strings.NewReader(text), partition.Options{})
	if err != nil || len(faults) > 0 {
		t.Fatal(faults, err)
	}
	runOn(t, f, emu.Config{}, subject{change: func(c *sm.Config) { c.PKeys.Partitions = parts }}, func(t *testing.T, r running) {
		const full, limited = ib.PKey(0xaa00), ib.PKey(0x2a00)
		for _, c := range []struct {
			name  string
			host  int
			group byte
			pkey  ib.PKey
			want  mad.Status
		}{
			{"a full member makes it", 1, 1, full, mad.StatusOK},
			{"a limited one joins it by the full key", 2, 1, full, mad.StatusOK},
			{"a full one by the limited key", 1, 2, limited, mad.StatusOK},
			{"two limited ones", 3, 3, limited, mad.StatusSARequestInvalid},
			{"two limited ones, of a group that is there", 3, 2, limited, mad.StatusSARequestInvalid},
			{"a key that the port does not hold", 0, 1, full, mad.StatusSARequestInvalid},
			{"a key that nobody holds", 1, 4, 0x8123, mad.StatusSARequestInvalid},
		} {
			r.at(t, hosts[c.host], func(cl client) {
				q := joining(mgid(c.group), mad.JoinFull)
				q.PKey = c.pkey
				_, err := cl.Join(t.Context(), q, sa.MCMemberCreate)
				if c.want == mad.StatusOK && err != nil {
					t.Errorf("%s: %v", c.name, err)
				} else if c.want != mad.StatusOK {
					wantStatus(t, c.name, err, c.want)
				}
			})
		}
		r.at(t, hosts[1], func(c client) {
			q := joining(mgid(5), mad.JoinFull)
			q.PortGID = ib.NewGID(ib.DefaultPrefix+1, guid(1))
			_, err := c.Join(t.Context(), q, sa.MCMemberCreate|mad.MCMemberRecordPortGID)
			wantStatus(t, "a foreign prefix", err, mad.StatusSARequestInvalid)
		})
	})
}

// TestM7PathToGroup: a path to a multicast LID without the group is refused.
func TestM7PathToGroup(t *testing.T) {
	run(t, "single:hosts=4", emu.Config{}, func(t *testing.T, r running) {
		hosts := r.fabric(t).Adapters()
		mlid := r.join(t, mgid(1), 0, hosts[0], hosts[1])
		own := r.info(t, r.fabric(t).Node(hosts[1]).ID).GID()
		r.at(t, hosts[1], func(c client) {
			_, err := sa.Get(t.Context(), c.Client, mad.PathRecord{SGID: own, DLID: ib.LID(mlid)}, mad.PathRecordSGID|mad.PathRecordDLID)
			wantStatus(t, "without an MGID", err, mad.StatusSARequestInvalid)
			_, err = sa.Get(t.Context(), c.Client, mad.PathRecord{SGID: own, DGID: mgid(9).GID()}, mad.PathRecordSGID|mad.PathRecordDGID)
			wantStatus(t, "to a group that is not there", err, mad.StatusSARequestInvalid)
			got, err := sa.Get(t.Context(), c.Client, mad.PathRecord{SGID: own, DGID: mgid(1).GID()}, mad.PathRecordSGID|mad.PathRecordDGID)
			if err != nil || got.DLID != ib.LID(mlid) {
				t.Errorf("with the MGID: %+v, %v", got, err)
			}
		})
	})
}

// without is a fabric some of whose nodes cannot multicast.
func without(f *fabric.Fabric, nodes ...fabric.NodeID) *fabric.Fabric {
	var b fabric.Builder
	for id := range fabric.NodeID(f.NumNodes()) {
		n := f.Node(id)
		if slices.Contains(nodes, id) {
			n.MulticastCap = 0
		}
		b.AddNode(n, fabric.Place{})
		for p := range n.NumPorts + 1 {
			e := fabric.End{Node: id, Port: p}
			b.SetPort(e, f.Port(e).PortInfo, fabric.Place{})
		}
	}
	for id := range fabric.LinkID(f.NumLinks()) {
		l := f.Link(id)
		b.Cable(l.A, l.B, l.Rate, fabric.Place{})
	}
	g, _ := b.Build()
	return g
}

// TestM8WithoutMulticast goes round a switch that cannot multicast, and names
// who hangs on it.
func TestM8WithoutMulticast(t *testing.T) {
	f := generate(t, "ring:n=5")
	f = without(f, f.Switches()[1])
	var log bytes.Buffer
	logged := func(c *sm.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) }
	runOn(t, f, emu.Config{}, subject{change: logged}, func(t *testing.T, r running) {
		hosts := f.Adapters()
		members := []fabric.NodeID{hosts[0], hosts[2]}
		mlid := r.join(t, mgid(1), 0, members...)
		time.Sleep(time.Second)
		r.wantSpread(t, mlid, members)
		r.join(t, mgid(1), 0, hosts[1])
		time.Sleep(time.Second)
		r.wantSpread(t, mlid, members)
		r.stop()
		if guid := f.Port(fabric.End{Node: hosts[1], Port: 1}).GUID.String(); !strings.Contains(log.String(), "member cut off") || !strings.Contains(log.String(), guid) {
			t.Errorf("%s is not named:\n%s", guid, &log)
		}
	})
}

// written is what all switches hold: LFTs and the first MLIDs' MFTs.
func (r running) written(t *testing.T) map[string]string {
	t.Helper()
	f, all := r.fabric(t), map[string]string{}
	for _, sw := range f.Switches() {
		r.at(t, sw, func(c client) {
			for _, what := range []struct {
				attr     mad.AttrID
				modifier uint32
			}{{mad.AttrLinearForwarding, 0}, {mad.AttrMulticastForwarding, 0}, {mad.AttrMulticastForwarding, mad.MulticastModifier(0, 1)}} {
				answer, err := c.port.Call(t.Context(), own(t, mad.MethodGet, what.attr, what.modifier, nil), umad.CallOptions{})
				if err != nil {
					t.Fatal(err)
				}
				all[fmt.Sprintf("%s %v %#x", f.Node(sw).Label(), what.attr, what.modifier)] = fmt.Sprintf("%x", answer.Datagram().Data())
			}
		})
	}
	return all
}

// own is a request to the agent of the node itself.
func own(t *testing.T, method mad.Method, attr mad.AttrID, modifier uint32, data []byte) *umad.Message {
	t.Helper()
	var d mad.Datagram
	d.SetHeader(mad.Header{Class: mad.ClassDirected, ClassVersion: 1, Method: method, Attr: attr, Modifier: modifier})
	if err := d.SetPath(nil); err != nil {
		t.Fatal(err)
	}
	copy(d.Data(), data)
	return &umad.Message{Address: umad.ByRoute(), Data: d[:]}
}

// TestM9SweepAndRestart: neither a heavy sweep nor another manager changes what
// the switches hold.
func TestM9SweepAndRestart(t *testing.T) {
	f := generate(t, "fat-tree:k=4")
	synctest.Test(t, func(t *testing.T) {
		live, err := emu.Start(f, emu.Config{})
		if err != nil {
			t.Fatal(err)
		}
		r := &remembering{running: running{managed: managed{live: live}}, store: store.InMemory(store.Options{})}
		var before map[string]string
		r.era(t, func(t *testing.T) {
			for n := range byte(12) {
				r.join(t, mgid(n), 0, f.Adapters()[n], f.Adapters()[(n+5)%16], f.Adapters()[(n*3+1)%16])
			}
			time.Sleep(time.Second)
			before = r.written(t)
			r.Resweep("the test")
			time.Sleep(5 * time.Second)
			if diff := cmp.Diff(before, r.written(t)); diff != "" {
				t.Errorf("after a sweep (-before +after):\n%s", diff)
			}
		})
		r.era(t, func(t *testing.T) {
			time.Sleep(5 * time.Second)
			if diff := cmp.Diff(before, r.written(t)); diff != "" {
				t.Errorf("after a restart (-before +after):\n%s", diff)
			}
		})
		if err := errors.Join(r.store.Close(), live.Close()); err != nil {
			t.Error(err)
		}
	})
}

// TestM10AllPorts: a group of all ports that there are, port 0 of switches too,
// has more members than any switch has ports.
func TestM10AllPorts(t *testing.T) {
	run(t, "fat-tree:k=4", emu.Config{}, func(t *testing.T, r running) {
		f := r.fabric(t)
		r.at(t, f.Adapters()[0], func(c client) {
			q := joining(mgid(1), mad.JoinFull) // as slow as a base port 0
			q.RateSelector, q.Rate = mad.SelectExactly, ib.Rate10
			if _, err := c.Join(t.Context(), q, sa.MCMemberCreate|mad.MCMemberRecordRateSelector|mad.MCMemberRecordRate); err != nil {
				t.Fatal(err)
			}
		})
		mlid := r.join(t, mgid(1), 0, f.Adapters()...)
		r.at(t, f.Adapters()[0], func(c client) {
			for _, sw := range f.Switches() {
				q := joining(mgid(1), mad.JoinFull)
				q.PortGID = r.info(t, f.Node(sw).ID).GID()
				if _, err := c.Join(t.Context(), q, mad.MCMemberRecordPortGID); err != nil {
					t.Errorf("%s: %v", f.Node(sw).Label(), err)
				}
			}
		})
		time.Sleep(2 * time.Second)
		r.wantSpread(t, mlid, f.Adapters())
		for _, sw := range f.Switches() {
			if !r.forwards(t, sw, mlid, 0) {
				t.Errorf("%s does not get it itself", f.Node(sw).Label())
			}
		}
	})
}
