package emu_test

import (
	"fmt"
	"strings"
	"testing"

	"heddle/emu"
	"heddle/fabric"
)

// TestSARecords: saquery gets single records from OpenSM over the subnet, by
// LID, GID and MGID. Of an answer it sees the first 224 bytes, as the preloaded
// library cuts the rest, and takes what it does not see for more records.
func TestSARecords(t *testing.T) {
	f := generate(t, "fat-tree:k=4,rate=4xEDR")
	s, _ := broughtUp(t, f, emu.Config{MLIDs: 4096})
	ends := f.EndPorts()
	from, to := ends[0], ends[5]
	mlid := s.join(t, s.port(t, f.Node(to.Node).ID), 7, f, from, to)
	queries := s.nodeQueries(t, to)
	queries = append(queries, s.pathQueries(t, from, to)...)
	queries = append(queries, s.linkQueries(t, to)...)
	member := []string{
		fmt.Sprint("MGID: ", mgid(7)), fmt.Sprintf("mlid: %#x", uint16(mlid)), "qkey: 0x1234", "mtu: 0x85", "pkey: 0xffff",
	}
	queries = append(queries,
		query{"MCMR --mgid " + mgid(7).String(), append(member, "PortGid: ::")},
		query{"--smkey 1 MCMR --gid " + s.gid(t, to), append(member, "PortGid: "+s.gid(t, to), "JoinState: 0x1")},
		query{"SMIR", []string{fmt.Sprint("GUID: ", f.Port(from).GUID), "SMState: 3"}},
	)
	s.ask(t, "saquery %s", queries)
}

func (s *served) gid(t *testing.T, e fabric.End) string {
	t.Helper()
	return s.info(t, s.fabric.Node(e.Node).ID, e.Port).GID().String()
}

func (s *served) nodeQueries(t *testing.T, e fabric.End) []query {
	t.Helper()
	n, lid := s.fabric.Node(e.Node), s.lid(t, s.fabric.Node(e.Node).ID)
	sw := s.fabric.Node(s.fabric.Switches()[0]).ID
	return []query{
		{fmt.Sprint("NR ", lid), []string{
			fmt.Sprint("lid: ", lid), "node_type: Channel Adapter", fmt.Sprint("node_guid: ", n.GUID),
			fmt.Sprint("port_guid: ", s.fabric.Port(e).GUID), "NodeDescription: " + n.Name,
		}},
		{fmt.Sprintf("PIR %d/%d", lid, e.Port), []string{
			fmt.Sprint("EndPortLid: ", lid), fmt.Sprint("Lid: ", lid), "LinkState: Active", "LinkWidthActive: 4X",
		}},
		{fmt.Sprint("SWIR ", s.lid(t, sw)), []string{
			fmt.Sprint("LID: ", s.lid(t, sw)), "MulticastFDBCap: 0x1000", "LinearFDBTop: 0x24",
		}},
		{fmt.Sprintf("--smkey 1 PKTR %d/%d/0", lid, e.Port), []string{"0xffff" + strings.Repeat(" 0x0000", 7)}},
	}
}

func (s *served) pathQueries(t *testing.T, from, to fabric.End) []query {
	t.Helper()
	slid, dlid := s.lid(t, s.fabric.Node(from.Node).ID), s.lid(t, s.fabric.Node(to.Node).ID)
	path := []string{
		"sgid: " + s.gid(t, from), "dgid: " + s.gid(t, to), fmt.Sprint("slid: ", slid), fmt.Sprint("dlid: ", dlid),
		"mtu: 0x85", "rate: 0x90", "pkey: 0xFFFF",
	}
	return []query{
		{fmt.Sprintf("PR --slid %d --dlid %d", slid, dlid), path},
		{fmt.Sprintf("PR --sgid %s --dgid %s", s.gid(t, from), s.gid(t, to)), path},
	}
}

func (s *served) linkQueries(t *testing.T, e fabric.End) []query {
	t.Helper()
	leaf, _ := s.fabric.Leaf(e)
	lid, leafLID := s.lid(t, s.fabric.Node(e.Node).ID), s.lid(t, s.fabric.Node(leaf.Node).ID)
	return []query{
		{fmt.Sprintf("LR %d/%d", leafLID, leaf.Port), []string{
			fmt.Sprint("FromLID: ", leafLID), fmt.Sprint("FromPort: ", leaf.Port),
			fmt.Sprint("ToPort: ", e.Port), fmt.Sprint("ToLID: ", lid),
		}},
		{fmt.Sprintf("LFTR %d/%d", leafLID, lid/64), []string{fmt.Sprintf("%d\t%d", lid, leaf.Port)}},
	}
}
