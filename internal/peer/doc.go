// Package peer runs the programs that heddle is compared with: ibsim, OpenSM,
// the infiniband-diags, UCX. Tests use it through internal/testenv.
//
// A program runs until it is stopped, and dies with the process that started
// it. The contexts of functions here are for what these wait for only.
//
//	sim, err := peer.StartIBSim(ctx, dir, "fabric.net", "name")
//	...
//	defer sim.Stop()
//	sm, err := peer.StartOpenSM(ctx, dir, "name", "")
//	...
//	defer sm.Stop()
//	err = sm.WaitSubnetUp(ctx)
package peer
