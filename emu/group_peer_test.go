package emu_test

import (
	"testing"

	"heddle/fabric"
	"heddle/ib"
	"heddle/mad"
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
	info, err := p.Info()
	if err != nil {
		t.Fatal(err)
	}
	var mlid ib.MLID
	for _, e := range members {
		gid := ib.NewGID(ib.DefaultPrefix, f.Port(e).GUID)
		answer, err := p.Call(t.Context(), joinRequest(info.SMLID, group, gid), umad.CallOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.StatusError(); err != nil {
			t.Fatal(err)
		}
		record, err := mad.ParseMCMemberRecord(answer.Datagram().Data())
		if err != nil {
			t.Fatal(err)
		}
		mlid = record.MLID
	}
	return mlid
}
