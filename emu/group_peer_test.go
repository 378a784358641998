package emu_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"heddle/emu"
	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
	"heddle/route"
	"heddle/umad"
)

// joinFields are those that a join that makes a group has to fill in.
const joinFields = mad.MCMemberRecordMGID | mad.MCMemberRecordPortGID | mad.MCMemberRecordJoinState |
	mad.MCMemberRecordQKey | mad.MCMemberRecordPKey | mad.MCMemberRecordTClass |
	mad.MCMemberRecordFlowLabel | mad.MCMemberRecordSL

// mgid is that of the group with a number.
func mgid(n int) ib.MGID {
	return ib.MGID{0xff, 0x12, 14: byte(n >> 8), 15: byte(n)}
}

// joinRequest asks subnet administration at a LID to let a port join a group.
func joinRequest(sa ib.LID, group int, port ib.GID) *umad.Message {
	m := &umad.Message{Address: umad.ToLID(sa), Data: make([]byte, mad.Size)}
	d := m.Datagram()
	d.SetHeader(mad.Header{Class: mad.ClassSA, ClassVersion: 2, Method: mad.MethodSet, Attr: mad.AttrMCMemberRecord})
	d.SetComponentMask(joinFields)
	mad.MCMemberRecord{
		MGID: mgid(group), PortGID: port, JoinState: mad.JoinFull, QKey: 0x1234, PKey: ib.DefaultPKey,
	}.AppendTo(d.Data()[:0])
	return m
}

// join lets adapters join a group and returns its MLID.
func (s *served) join(t *testing.T, p *umad.Port, group int, f *fabric.Fabric, members ...fabric.End) ib.MLID {
	t.Helper()
	var mlid ib.MLID
	for _, e := range members {
		m, err := joinOne(t.Context(), p, s.lid(t, ""), group, f.Port(e).GUID)
		if err != nil {
			t.Fatal(err)
		}
		mlid = m
	}
	return mlid
}

func joinOne(ctx context.Context, p *umad.Port, sa ib.LID, group int, port ib.GUID) (ib.MLID, error) {
	request := joinRequest(sa, group, ib.NewGID(ib.DefaultPrefix, port))
	answer, err := p.Call(ctx, request, umad.CallOptions{Timeout: time.Second, Retries: 10})
	if err != nil {
		return 0, err
	}
	if err := answer.StatusError(); err != nil {
		return 0, err
	}
	record, err := mad.ParseMCMemberRecord(answer.Datagram().Data())
	return record.MLID, err
}

// TestManyGroups: OpenSM gives each of 2,000 groups an MLID of its own, and
// writes them to the switches.
func TestManyGroups(t *testing.T) {
	s, sm := broughtUp(t, generate(t, "fat-tree:k=4"), emu.Config{MLIDs: 2048})
	groups, mlids, errs := s.joinMany(t, 2000)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	distinct := map[ib.MLID]bool{}
	for _, mlid := range mlids {
		distinct[mlid] = true
	}
	if len(distinct) != len(groups) {
		t.Errorf("%d MLIDs for %d groups", len(distinct), len(groups))
	}
	graph := route.NewGraph(s.fabric, route.Selection{})
	s.awaitTables(t, graph, route.NewDemand(graph, groups), mlids)
	checkLog(t, sm.Log())
}

// TestTooManyGroups: what the smallest switch can hold is all that OpenSM
// gives, of which it takes one for the broadcast group.
func TestTooManyGroups(t *testing.T) {
	s, _ := broughtUp(t, generate(t, "single:hosts=4"), emu.Config{MLIDs: 1024})
	_, _, errs := s.joinMany(t, 1100)
	refused := 0
	for _, err := range errs {
		var status *umad.StatusError
		if errors.As(err, &status) && status.Status == mad.StatusSANoResources {
			refused++
		} else if err != nil {
			t.Error(err)
		}
	}
	if joined := len(errs) - refused; joined != 1023 {
		t.Errorf("%d groups joined of 1,024 MLIDs, want 1023", joined)
	}
}

// joinMany lets two adapters each join so many groups, and returns for each
// group its members, its MLID, and what went wrong.
func (s *served) joinMany(t *testing.T, n int) (groups []fabric.Group, mlids []ib.MLID, errs []error) {
	t.Helper()
	const inFlight = 8
	p, sa, ends := s.port(t, ""), s.lid(t, ""), s.fabric.EndPorts()
	groups, mlids, errs = make([]fabric.Group, n), make([]ib.MLID, n), make([]error, n)
	var wait sync.WaitGroup
	for w := range inFlight {
		wait.Go(func() {
			for i := w; i < n; i += inFlight {
				a, b := ends[i%len(ends)], ends[(i+1+i%(len(ends)-1))%len(ends)]
				groups[i].Members = []fabric.End{a, b}
				mlids[i], errs[i] = joinOne(t.Context(), p, sa, i, s.fabric.Port(a).GUID)
				if errs[i] == nil {
					mlids[i], errs[i] = joinOne(t.Context(), p, sa, i, s.fabric.Port(b).GUID)
				}
			}
		})
	}
	wait.Wait()
	return groups, mlids, errs
}
