package sim_test

import (
	"context"
	"fmt"

	"heddle/verbs"
	"heddle/verbs/sim"
)

// Two devices, a WRITE, and what it cost. Errors are left out for shortness.
func Example() {
	ctx := context.Background()
	net, _ := sim.New(sim.Config{Profile: sim.AdaptiveRouting(), Seed: 1, Clock: sim.Crossings})
	defer net.Close() //nolint:errcheck // of an example

	open := func(name string) (verbs.Context, verbs.CQ, verbs.MR, verbs.QP) {
		dev, _ := net.Add(name)
		c, _ := dev.Open()
		pd, _ := c.AllocPD()
		cq, _ := c.CreateCQ(verbs.CQAttr{Depth: 16})
		mem, _ := verbs.NewMemory(4096)
		mr, _ := pd.RegisterMR(mem, verbs.LocalWrite|verbs.RemoteWrite)
		qp, _ := pd.CreateQP(verbs.QPAttr{Type: verbs.RC, SendCQ: cq, RecvCQ: cq})
		return c, cq, mr, qp
	}
	_, cq, from, here := open("here")
	far, _, to, there := open("there")
	_ = here.Connect(ctx, there.Endpoint())
	_ = there.Connect(ctx, here.Endpoint())

	copy(from.Memory().Bytes(), "warp and weft")
	_ = here.PostSend(&verbs.SendWR{
		Op: verbs.OpWrite, Flags: verbs.Signaled, SGEs: []verbs.SGE{from.SGE(0, 13)}, RemoteAddr: to.Addr(), RKey: to.RKey(),
	})
	at := to.Memory().Bytes()
	_ = far.Await(ctx, func() bool { return at[12] != 0 })
	fmt.Printf("the last byte came after %d crossing, all bytes: %v\n", net.Now(), string(at[:13]) == "warp and weft")

	var wcs [1]verbs.WC
	_, _ = verbs.Await(ctx, cq, wcs[:])
	fmt.Printf("%v: %v after %d crossings: %s\n", wcs[0].Op, wcs[0].Status, net.Now(), at[:13])
	// Output:
	// the last byte came after 1 crossing, all bytes: false
	// WRITE: success after 2 crossings: warp and weft
}
