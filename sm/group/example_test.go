package group_test

import (
	"fmt"
	"time"

	"heddle/ib"
	"heddle/sm/group"
)

// Two ports make a collected group of two, which is routed and programmed.
func Example() {
	now := time.Unix(0, 0)
	table, err := group.New(group.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	join := group.Request{
		Has: group.CreateComponents, MGID: ib.MustParseMGID("ff12::1"), JoinState: group.FullMember,
		Params: group.Params{PKey: ib.DefaultPKey}, MemberCount: 2,
	}
	for guid := ib.GUID(1); guid <= 2; guid++ {
		port := &group.Port{
			GID: ib.NewGID(ib.DefaultPrefix, guid), PKeys: []ib.PKey{ib.DefaultPKey}, MTU: ib.MTU4096, Rate: ib.Rate200,
		}
		join.PortGID, join.Requester, join.Member = port.GID, port, port
		joined, err := table.Join(now, &join)
		fmt.Println(joined.Group.MLID, joined.Group.State, err)
	}
	batch := table.Take(now, group.Everything)
	for _, mlid := range batch.Changed {
		fmt.Println(mlid, "reaches", table.Ports(mlid, group.Ports{}).Receivers)
	}
	table.Programmed(now, batch.ID)
	g, _ := table.Group(join.MGID)
	fmt.Println(g.State)

	join.MemberCount = 3
	_, err = table.Join(now, &join)
	fmt.Println(err)
	// Output:
	// 0xc000 ReceivingJoinReq <nil>
	// 0xc000 ComputingRoutes <nil>
	// 0xc000 reaches [fe80::1 fe80::2]
	// Ready
	// group ff12::1, port fe80::2: request invalid: another MemberCount
}
