//go:build amd64

package ibv_test

import (
	"testing"

	"heddle/verbs"
	"heddle/verbs/verbstest"
)

// rxeDeviations is what Linux's rxe (6.1, librxe of rdma-core 44) is known not to
// follow.
var rxeDeviations = []verbstest.Deviation{
	{Test: "RecvQueueFull", Reason: "its queues hold more than it says: it rounds up"},
	{Test: "SendQueueFull", Reason: "its queues hold more than it says: it rounds up"},
	{Test: "LocalProtection", Reason: "it says local QP operation error for each fault of local memory"},
	{Test: "BadBuffer", Reason: "it says local QP operation error for each fault of local memory"},
	{Test: "SQE", Reason: "it says local QP operation error for each fault of local memory"},
	{Test: "LongMessage", Reason: "it says remote operation error of a message longer than its buffer"},
	{Test: "V10Long", Reason: "a datagram longer than its buffer fails the receive and the QP"},
	{Test: "DatagramOverMTU", Reason: "it sends a datagram over the MTU, and says that it succeeded"},
	{Test: "V8FetchAdd", Reason: "its driver refuses an unaligned atomic at the post call, before the peer can"},
	{Test: "V8CompareSwap", Reason: "its driver refuses an unaligned atomic at the post call, before the peer can"},
	{Test: "WindowBounds", Reason: "a window's key lets peers to all of the MR"},
	{Test: "Window1Bounds", Reason: "a window's key lets peers to all of the MR"},
	{Test: "WindowWraps", Reason: "it does not see that the end of a window wraps 2^64"},
	{Test: "WindowInvalidateQP", Reason: "any QP can take a window back"},
	{Test: "Drain", Reason: "what is posted in SQD stays there in RTS, until something more is posted", Skip: true},
	{Test: "SRQLastWQE", Reason: "it has no event for the last buffer of a QP in error", Skip: true},
	{Test: "V2PostInError", Reason: "a receive that is posted to a QP in error stays there until something wakes the QP", Skip: true},
}

// testConformanceTwoProcesses runs it with the far end in another process, which
// has opened the device as well.
func testConformanceTwoProcesses(t *testing.T, device string) {
	peer := verbstest.Start(t)
	verbstest.Run(t, verbstest.Suite{
		Open: func(tb testing.TB) (near, far verbs.Context) {
			far, err := peer.Open()
			if err != nil {
				tb.Fatal(err)
			}
			return openDevice(tb, device), far
		},
		Deviations: rxeDeviations,
		MaxSize:    1 << 20,
		Rounds:     20,
	})
}

// testConformance runs the suite of package verbs with both ends on one device,
// which loops packets back.
func testConformance(t *testing.T, device string) {
	verbstest.Run(t, verbstest.Suite{
		Open: func(tb testing.TB) (near, far verbs.Context) {
			return openDevice(tb, device), openDevice(tb, device)
		},
		Deviations: rxeDeviations,
		MaxSize:    1 << 20,
		Rounds:     20,
	})
}
