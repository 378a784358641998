package mad

import "fmt"

func (d BadKeyDetails) opensm() []string {
	return []string{
		line("lid1", d.LID1), line("lid2", d.LID2), fmt.Sprintf("key %#x", d.Key), line("sl", d.SL),
		fmt.Sprintf("qp1 %#x", uint32(d.QP1)), fmt.Sprintf("qp2 %#x", uint32(d.QP2)), line("gid1", d.GID1), line("gid2", d.GID2),
	}
}
