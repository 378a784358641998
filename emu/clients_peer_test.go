package emu_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"heddle/emu"
	"heddle/ib"
	"heddle/internal/testenv"
	"heddle/mad"
	"heddle/umad"
)

// native attaches a client that speaks ibsim's protocol in this process.
func (s *served) native(t *testing.T, node string) *umad.Port {
	t.Helper()
	d, err := umad.Open("ibsim:" + s.name + "/" + node)
	if err != nil {
		t.Fatal(err)
	}
	p := umad.NewPort(d)
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

// TestManyClients: OpenSM, 40 clients of our own and programs of infiniband-diags
// are attached at once, and all get their answers.
func TestManyClients(t *testing.T) {
	const natives, programs = 40, 8
	s, _ := broughtUp(t, generate(t, "fat-tree:k=8"), emu.Config{})
	nodes := named(s.fabric, s.fabric.Adapters())
	var ports []*umad.Port
	for i := range natives {
		ports = append(ports, s.native(t, nodes[i*3]))
	}
	if n := s.server.Clients(); n != natives+1 {
		t.Errorf("%d clients are attached, want %d", n, natives+1)
	}
	var wait sync.WaitGroup
	errs := make([]error, natives+programs)
	for i := range natives {
		wait.Go(func() { errs[i] = s.talk(t, ports[i], nodes[i*3], nodes[len(nodes)-1-i]) })
	}
	for i := range programs {
		wait.Go(func() { errs[natives+i] = s.discover(t, nodes[i*5+1]) })
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

// talk lets a client ask another node, and subnet administration for the path
// there.
func (s *served) talk(t *testing.T, p *umad.Port, from, to string) error {
	source, target := s.info(t, from, 0), s.info(t, to, 0)
	for range 20 {
		m := &umad.Message{Address: umad.ToSMA(target.LID), Data: make([]byte, mad.Size)}
		m.Datagram().SetHeader(mad.Header{Class: mad.ClassLID, ClassVersion: 1, Method: mad.MethodGet, Attr: mad.AttrNodeInfo})
		answer, err := p.Call(t.Context(), m, umad.CallOptions{})
		if err != nil {
			return err
		}
		node, err := mad.ParseNodeInfo(answer.Datagram().Data())
		if err != nil {
			return err
		}
		if node.NodeGUID != target.NodeGUID {
			return fmt.Errorf("%s asked %s and got %v", from, to, node.NodeGUID)
		}
		path, err := pathTo(t, p, source, target)
		if err != nil {
			return err
		}
		if path.DLID != target.LID || path.SLID != source.LID {
			return fmt.Errorf("path of %s to %s is from %v to %v", from, to, path.SLID, path.DLID)
		}
	}
	return nil
}

func pathTo(t *testing.T, p *umad.Port, from, to umad.Info) (mad.PathRecord, error) {
	m := &umad.Message{Address: umad.ToLID(from.SMLID), Data: make([]byte, mad.Size)}
	d := m.Datagram()
	d.SetHeader(mad.Header{Class: mad.ClassSA, ClassVersion: 2, Method: mad.MethodGet, Attr: mad.AttrPathRecord})
	d.SetComponentMask(mad.PathRecordSGID | mad.PathRecordDGID | mad.PathRecordNumbPath)
	mad.PathRecord{SGID: from.GID(), DGID: to.GID(), NumbPath: 1}.AppendTo(d.Data()[:0])
	answer, err := p.Call(t.Context(), m, umad.CallOptions{})
	if err != nil {
		return mad.PathRecord{}, err
	}
	if err := answer.StatusError(); err != nil {
		return mad.PathRecord{}, err
	}
	return mad.ParsePathRecord(answer.Datagram().Data())
}

// discover runs ibnetdiscover and counts what it finds.
func (s *served) discover(t *testing.T, node string) error {
	out, err := testenv.TryDiag(t, s.name, node, "ibnetdiscover", "-g")
	if err != nil {
		return err
	}
	if n := strings.Count(out, "guid=0x"); n < s.fabric.NumNodes() {
		return fmt.Errorf("ibnetdiscover at %s finds %d of %d nodes", node, n, s.fabric.NumNodes())
	}
	return nil
}

// TestKilledOpenSM: a client that is killed frees its place, and the mark of a
// subnet manager goes with it; the next one takes over, and keeps the LIDs.
func TestKilledOpenSM(t *testing.T) {
	f := generate(t, "fat-tree:k=4")
	s, first := broughtUp(t, f, emu.Config{})
	marked := func() bool { return s.info(t, "", 0).Capabilities&uint32(mad.CapIsSM) != 0 }
	if !marked() || s.server.Clients() != 1 {
		t.Errorf("OpenSM runs: marked %v, %d clients", marked(), s.server.Clients())
	}
	before := s.lids(t)
	first.Stop()
	eventually(t, func() string {
		if n := s.server.Clients(); n > 0 {
			return fmt.Sprint(n, " clients of a process that is gone")
		}
		return ""
	})
	if marked() {
		t.Error("the port is marked as a subnet manager's still")
	}
	testenv.StartOpenSM(t, s.name, "").WaitSubnetUp(t)
	if !marked() {
		t.Error("the port of the second subnet manager is not marked")
	}
	for i, lid := range s.lids(t) {
		if lid != before[i] {
			t.Errorf("adapter %d had LID %v and has %v", i, before[i], lid)
		}
	}
}

func (s *served) lids(t *testing.T) (lids []ib.LID) {
	t.Helper()
	for _, node := range named(s.fabric, s.fabric.Adapters()) {
		lids = append(lids, s.lid(t, node))
	}
	return lids
}

// TestFailover: a second subnet manager of a higher priority is handed the
// subnet; when it is killed, the first takes the subnet back.
func TestFailover(t *testing.T) {
	f := generate(t, "fat-tree:k=4")
	options := []string{"sminfo_polling_timeout 100", "polling_retry_number 2"}
	s, first := broughtUp(t, f, emu.Config{}, append(options, "sm_priority 3")...)
	nodes := named(f, f.Adapters())
	second := testenv.StartOpenSM(t, s.name, nodes[5], append(options, "sm_priority 9")...)
	second.WaitLog(t, "Entering MASTER state")
	second.WaitSubnetUp(t)
	first.WaitLog(t, "Entering STANDBY state")
	if sm := s.info(t, nodes[9], 0).SMLID; sm != s.lid(t, nodes[5]) {
		t.Errorf("ports know the subnet manager at LID %v, want %v", sm, s.lid(t, nodes[5]))
	}
	second.Stop()
	first.WaitLog(t, "Entering MASTER state")
	first.WaitSubnetUp(t)
	if sm := s.info(t, nodes[9], 0).SMLID; sm != s.lid(t, "") {
		t.Errorf("ports know the subnet manager at LID %v, want %v", sm, s.lid(t, ""))
	}
	checkLog(t, second.Log())
	checkLog(t, first.Log(), "(SMInfo)", "IB_TIMEOUT") // by which it knows that the other is dead
}
