package verbstest

import (
	"context"
	"errors"

	"heddle/ib"
	"heddle/verbs"
)

func brokenDatagrams() []mutant {
	return []mutant{
		{name: "leaves no room for a GRH", fault: poll(func(_ *world, wc *verbs.WC) bool { wc.ByteLen -= min(wc.ByteLen, verbs.GRHSize); return true }), tests: must("Datagrams", "V10Multicast")},
		{name: "names another sender", fault: poll(func(_ *world, wc *verbs.WC) bool { wc.SrcQPN++; return true }), tests: must("Datagrams", "DatagramPeers")},
		{name: "ignores Q_Keys", fault: post(func(_ *world, wr *verbs.SendWR) { wr.RemoteQKey = qkey }), tests: must("DatagramQKey")},
		{name: "keeps senders' own copies", fault: fault{qp: func(a *verbs.QPAttr) { a.BlockLoopback = true }}, tests: must("V10Multicast")},
		{name: "ignores BlockLoopback", fault: fault{qp: func(a *verbs.QPAttr) { a.BlockLoopback = false }}, tests: must("BlockLoopback")},
		{name: "stays in a group", fault: fault{detach: func() error { return nil }}, tests: must("V10Multicast")},
		{name: "is in no group", fault: fault{attach: func(*brokenQP, ib.MGID) error { return nil }}, tests: must("V10Multicast", "BlockLoopback")},
		{name: "has all in a group", fault: fault{connect: func(ctx context.Context, q *brokenQP, peer []byte) error {
			err := q.QP.Connect(ctx, peer)
			if q.Type() == verbs.UD {
				err = errors.Join(err, q.QP.Attach(ib.MustParseMGID("ff0e::ffff:e001:203"), 0))
			}
			return err
		}}, tests: must("V10Multicast")},
		{name: "cuts datagrams", fault: post(func(_ *world, wr *verbs.SendWR) {
			if wr.Length() > 4096 {
				wr.SGEs = []verbs.SGE{wr.SGEs[0]}
				wr.SGEs[0].Length = 4096
			}
		}), tests: must("DatagramOverMTU")},
		{name: "keeps datagrams for later buffers", fault: fault{
			send: func(q *brokenQP, wr *verbs.SendWR) error {
				again := *wr
				again.Flags = 0
				q.f.world.kept = func() error { return q.QP.PostSend(&again) }
				return q.QP.PostSend(wr)
			},
			recv: func(q *brokenQP, wr *verbs.RecvWR) error {
				err := q.QP.PostRecv(wr)
				if q.f.world.kept != nil {
					err = errors.Join(err, q.f.world.kept())
				}
				return err
			},
		}, tests: must("DatagramNoBuffer")},
		{name: "takes any address", fault: fault{resolve: func(ah verbs.AH, err error) (verbs.AH, error) {
			if err != nil {
				return noAddress{}, nil
			}
			return ah, nil
		}}, tests: must("DatagramAddress")},
		{name: "sends datagrams twice", fault: fault{send: func(q *brokenQP, wr *verbs.SendWR) error {
			if q.Type() == verbs.UD {
				again := *wr
				again.Flags = 0
				q.QP.PostSend(&again) //nolint:errcheck // it is what must not be
			}
			return q.QP.PostSend(wr)
		}}, tests: must("V10Multicast")},
	}
}

func brokenLives() []mutant {
	return []mutant{
		{name: "retries for ever", fault: fault{qp: func(a *verbs.QPAttr) { a.RNRRetries = verbs.Forever }}, tests: must("V1NoReceive", "V1NoReceiveWriteImm")},
		{name: "never retries", fault: fault{qp: func(a *verbs.QPAttr) { a.RNRRetries = verbs.Times(0) }}, tests: must("V1LateReceive", "V1Behind", "SRQEmpty")},
		{name: "retries seven times for ever", fault: fault{qp: func(a *verbs.QPAttr) {
			if a.RNRRetries.Count() == 7 {
				a.RNRRetries = verbs.Times(6)
			}
		}}, tests: must("V1LateReceive")},
		{name: "closes what is busy", fault: fault{close: func(_ int, err error) error {
			if errors.Is(err, verbs.ErrBusy) {
				return nil
			}
			return err
		}}, tests: must("CloseBusy", "CloseBusySRQ")},
		{name: "closes no QP", fault: fault{closeQP: func(verbs.QP) error { return nil }}, tests: must("GonePeer", "Recreate", "AfterClose", "WindowClosedQP")},
		{name: "does not end waits", fault: fault{await: func(ctx context.Context, dev verbs.Context, ready func() bool) error {
			if err := dev.Await(ctx, ready); !errors.Is(err, verbs.ErrClosed) {
				return err
			}
			return nil
		}}, tests: must("AwaitEnds", "ContextEnds")},
		{name: "gives one key to all", fault: fault{mr: func(mr verbs.MR) verbs.MR { return oneKey{mr} }}, tests: must("ManyObjects")},
		{name: "names other bytes of an MR", fault: fault{mr: func(mr verbs.MR) verbs.MR { return shifted{mr} }}, tests: must("Names")},
		{name: "has an SRQ without limits", fault: fault{srqPosts: func(q verbs.SRQ, wr *verbs.RecvWR) error {
			return q.PostRecv(&verbs.RecvWR{ID: wr.ID, SGEs: wr.SGEs[:min(len(wr.SGEs), 1)]})
		}}, tests: must("SRQBounds")},
		{name: "has UC fail as a whole", fault: fault{state: func(s verbs.QPState) verbs.QPState {
			if s == verbs.SQE {
				return verbs.Err
			}
			return s
		}}, tests: must("SQE")},
		{name: "has UC fail without a buffer", fault: fault{send: func(q *brokenQP, wr *verbs.SendWR) error {
			if q.Type() == verbs.UC && wr.Op == verbs.OpSend {
				return q.QP.Modify(verbs.Err)
			}
			return q.QP.PostSend(wr)
		}}, tests: must("UCDrops", "SQE")},
		{name: "closes once", fault: fault{close: func(times int, err error) error {
			if times > 1 && err == nil {
				return verbs.ErrClosed
			}
			return err
		}}, tests: must("CloseBusy", "AfterClose", "InFlight")},
		{name: "connects to noise", fault: fault{connect: func(ctx context.Context, q *brokenQP, peer []byte) error {
			if err := q.QP.Connect(ctx, peer); !errors.Is(err, verbs.ErrInvalid) {
				return err
			}
			return nil
		}}, tests: must("BadEndpoint")},
		{name: "fails of noise", fault: fault{connect: func(ctx context.Context, q *brokenQP, peer []byte) error {
			err := q.QP.Connect(ctx, peer)
			if errors.Is(err, verbs.ErrInvalid) {
				err = errors.Join(err, q.QP.Modify(verbs.Err))
			}
			return err
		}}, tests: must("BadEndpoint")},
		{name: "ignores the context of Connect", fault: fault{connect: func(_ context.Context, q *brokenQP, peer []byte) error {
			return q.QP.Connect(context.Background(), peer)
		}}, tests: must("BadEndpoint")},
		{name: "does not recover", fault: fault{modify: func(q *brokenQP, to verbs.QPState) error {
			if to == verbs.Reset {
				return nil
			}
			return q.QP.Modify(to)
		}}, tests: must("Recovery", "States", "ResetForgets")},
		{name: "does not go into error", fault: fault{modify: func(q *brokenQP, to verbs.QPState) error {
			if to == verbs.Err {
				return nil
			}
			return q.QP.Modify(to)
		}}, tests: must("FlushByModify", "V2PostInError", "States", "ErrorPeer")},
		{name: "does not drain", fault: fault{modify: func(q *brokenQP, to verbs.QPState) error {
			if to == verbs.SQD {
				return nil
			}
			return q.QP.Modify(to)
		}}, tests: must("Drain")},
		{name: "allows any change of state", fault: fault{modify: func(q *brokenQP, to verbs.QPState) error {
			if err := q.QP.Modify(to); !errors.Is(err, verbs.ErrState) {
				return err
			}
			return nil
		}}, tests: must("States")},
		{name: "makes what is beyond its limits", fault: fault{qp: func(a *verbs.QPAttr) {
			a.SendWR, a.Retries, a.RNRRetries = min(a.SendWR, 128), min(a.Retries, verbs.Forever), min(a.RNRRetries, verbs.Forever)
		}}, tests: must("Limits")},
		{name: "does not name the limit of a QP", fault: fault{qpError: func(err error) error {
			if errors.Is(err, verbs.ErrInvalid) {
				return verbs.ErrInvalid
			}
			return err
		}}, tests: must("Limits")},
		{name: "takes any GID", fault: fault{qp: func(a *verbs.QPAttr) { a.GID = ib.GID{} }}, tests: must("V11")},
		{name: "does not name the GID", fault: fault{hasGID: func(err error) error {
			if err != nil {
				return verbs.ErrNotFound
			}
			return nil
		}}, tests: must("V11")},
		{name: "has the larger MTU", fault: fault{told: func(a verbs.QPAttr) verbs.QPAttr { a.MTU = ib.MTU4096; return a }}, tests: must("V12")},
		{name: "claims more SGEs", fault: fault{attr: func(a *verbs.DeviceAttr) { a.MaxSGE++ }}, tests: must("Ports", "ListsWrite")},
	}
}

// noAddress goes nowhere.
type noAddress struct{}

func (noAddress) Close() error { return nil }

// oneKey is an MR whose remote key is that of all others.
type oneKey struct{ verbs.MR }

func (oneKey) RKey() uint32 { return 1 }

// shifted is an MR that names the bytes behind those that are asked for.
type shifted struct{ verbs.MR }

func (s shifted) SGE(offset, n int) verbs.SGE { return s.MR.SGE(offset+1, n) }
