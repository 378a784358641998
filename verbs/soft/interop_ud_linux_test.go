//go:build amd64

package soft_test

import (
	"bytes"
	"net/netip"
	"testing"

	"heddle/ib"
	"heddle/verbs"
)

const interopQKey ib.QKey = 0x1234567

// interopDatagrams sends datagrams of all sizes that matter.
func interopDatagrams(t *testing.T) {
	bothWays(t, func(t *testing.T, from, to *node) {
		attr := verbs.QPAttr{Type: verbs.UD, QKey: interopQKey}
		near, far := from.qp(attr), to.qp(attr)
		must(t, near.Connect(t.Context(), nil))
		must(t, far.Connect(t.Context(), nil))
		ah, qpn, qkey, err := from.pd.ResolveAH(far.Endpoint())
		must(t, err)
		from.later(ah.Close)
		if qpn != far.QPN() || qkey != interopQKey {
			t.Errorf("QP %d and key %#x", qpn, uint32(qkey))
		}
		wr := verbs.SendWR{Flags: verbs.Signaled, AH: ah, RemoteQPN: qpn, RemoteQKey: qkey, Imm: 77}
		for _, size := range []int{0, 1, 2, 3, 1023, 1024, 4095, 4096} {
			for _, op := range []verbs.Op{verbs.OpSend, verbs.OpSendImm} {
				wr.Op, wr.SGEs = op, []verbs.SGE{from.mr.SGE(sourceAt, size)}
				datagram(t, from, to, near, far, &wr, size)
			}
		}
		// One with a wrong key is dropped, and the next one is not.
		to.recv(far, targetAt, 100)
		wr.RemoteQKey++
		must(t, near.PostSend(&wr))
		from.succeed()
		wr.RemoteQKey, wr.SGEs, wr.Imm = qkey, nil, 78
		must(t, near.PostSend(&wr))
		from.succeed()
		if wc := to.succeed(); wc.Imm != 78 || wc.ByteLen != verbs.GRHSize {
			t.Errorf("%+v", wc)
		}
		operationsDone.Add(2)
	})
}

// datagram sends one.
func datagram(t *testing.T, from, to *node, near, far verbs.QP, wr *verbs.SendWR, size int) {
	t.Helper()
	pattern(from.mem[sourceAt:][:size], int(salt.Add(1)))
	to.recv(far, targetAt, verbs.GRHSize+size)
	must(t, near.PostSend(wr))
	from.succeed()
	wc := to.succeed()
	flags := verbs.WithGRH
	if wr.Op.HasImm() {
		flags |= verbs.WithImm
	}
	if wc.ByteLen != uint32(verbs.GRHSize+size) || wc.Flags != flags || wc.SrcQPN != near.QPN() || wr.Op.HasImm() && wc.Imm != wr.Imm {
		t.Errorf("%v of %d bytes from %s: %+v", wr.Op, size, from.name, wc)
	}
	if !bytes.Equal(to.mem[targetAt+verbs.GRHSize:][:size], from.mem[sourceAt:][:size]) {
		t.Errorf("%v of %d bytes from %s: other bytes arrived", wr.Op, size, from.name)
	}
	if got := senderOf(to.mem[targetAt:]); got != from.addr {
		t.Errorf("%v of %d bytes: from %v, not %v", wr.Op, size, got, from.addr)
	}
	operationsDone.Add(1)
}

// senderOf is the source address before a datagram.
func senderOf(b []byte) netip.Addr {
	if b[0]>>4 == 6 {
		return netip.AddrFrom16([16]byte(b[8:24]))
	}
	return netip.AddrFrom4([4]byte(b[32:36]))
}

// interopMulticast has a QP of each end in a group, which both send to.
func interopMulticast(t *testing.T) {
	for family, group := range []ib.MGID{ib.MGID(ib.MustParseGID("::ffff:239.1.1.9")), ib.MustParseMGID("ff05::1234")} {
		ours, theirs := nodes(t, family)
		attr := verbs.QPAttr{Type: verbs.UD, QKey: interopQKey}
		ends := [2]*node{ours, theirs}
		var members [2]verbs.QP
		for i, n := range ends {
			members[i] = n.qp(attr)
			must(t, members[i].Connect(t.Context(), nil))
		}
		atFar(t, func() { must(t, members[0].Attach(group, 0)) })
		must(t, members[1].Attach(group, 0))
		for round := range 8 {
			for i, n := range ends {
				sendToGroup(t, n, ends, members, i, group, []int{0, 1, 1000, 1024}[round/2])
			}
		}
	}
}

// sendToGroup has one of two members send, which both receive.
func sendToGroup(t *testing.T, from *node, ends [2]*node, members [2]verbs.QP, sender int, group ib.MGID, size int) {
	t.Helper()
	for i, n := range ends {
		n.recv(members[i], targetAt, verbs.GRHSize+size)
	}
	ah, err := from.pd.CreateAH(verbs.AHAttr{GID: group.GID()})
	must(t, err)
	pattern(from.mem[sourceAt:][:size], int(salt.Add(1)))
	must(t, members[sender].PostSend(&verbs.SendWR{
		Op: verbs.OpSendImm, Imm: uint32(size), Flags: verbs.Signaled, SGEs: []verbs.SGE{from.mr.SGE(sourceAt, size)},
		AH: ah, RemoteQPN: ib.MulticastQPN, RemoteQKey: interopQKey,
	}))
	for i, n := range ends {
		list := n.completions(1)
		if i == sender {
			list = append(list, n.completions(1)...)
		}
		for _, wc := range list {
			if err := wc.Err(); err != nil {
				t.Fatalf("from %s to %v: %s: %v", from.name, group.GID(), n.name, err)
			}
			if wc.Op == verbs.OpRecv && (wc.SrcQPN != members[sender].QPN() || wc.Imm != uint32(size)) {
				t.Errorf("from %s to %v: %s received %+v", from.name, group.GID(), n.name, wc)
			}
		}
		if !bytes.Equal(n.mem[targetAt+verbs.GRHSize:][:size], from.mem[sourceAt:][:size]) {
			t.Errorf("from %s to %v: %s received other bytes", from.name, group.GID(), n.name)
		}
	}
	must(t, ah.Close())
	operationsDone.Add(1)
}
