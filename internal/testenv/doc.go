// Package testenv finds what tests need from outside the module: peers, which
// are the programs that heddle is compared with, the shared data, which lies
// beside a checkout or nowhere, and a virtual machine, for kernel devices that
// few machines have.
//
// A missing peer, or kernel for the virtual machine, fails the test, so that a
// green run means that the comparison took place; only `go test -short` skips
// it. Missing data is no failure: the test runs on a generated fabric instead.
//
//	func TestAcceptedByIbsim(t *testing.T) {
//		ibsim := testenv.Peer(t, "ibsim")
//		dump, ok := testenv.Shared(t, "data", "fabrics", "ibsim-net")
//		...
//	}
package testenv
