package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"heddle/cli/perf"
	"heddle/verbs"

	"github.com/spf13/cobra"
)

// pingPongFlags are the flags of heddle verbs pingpong.
type pingPongFlags struct {
	deviceFlags
	listen, connect string
	test, op, qp    string
	spec            perf.Spec
	json            bool
	ibverbs         bool
}

func (a *app) verbsPingPongCommand() *cobra.Command {
	var f pingPongFlags
	cmd := &cobra.Command{
		Use: "pingpong", Short: "Send messages between two ends, and measure",
		Long: "Send messages between two queue pairs, and tell how long they take. One process\n" +
			"has both ends, or --listen one of them and --connect the other, over ibv on two\n" +
			"machines as well. Who connects says what is done; who listens says only which\n" +
			"device it has.\n\n" +
			"  heddle verbs pingpong --provider ibv --listen :18515\n" +
			"  heddle verbs pingpong --provider ibv --connect host:18515 --op write --size 64\n\n" +
			"With --ibverbs the other end is ibv_rc_pingpong, ibv_uc_pingpong or ibv_ud_pingpong\n" +
			"of rdma-core, for a provider that speaks InfiniBand or RoCE: ibv or soft.\n\n" +
			"  ibv_rc_pingpong -d mlx5_0 -g 3\n" +
			"  heddle verbs pingpong --provider soft --device 10.0.0.2 --ibverbs --connect host:18515\n\n" +
			"ADDRESS is HOST:PORT or unix:PATH. It carries what queue pairs must know of each\n" +
			"other, in the clear; listen where only those reach it that may use the memory.\n\n" + deviceHelp,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.ibverbs && !cmd.Flags().Changed("size") {
				f.spec.Size = f.programSize()
			}
			return a.pingPong(cmd.Context(), f)
		},
	}
	f.flags(cmd, "shm")
	set := cmd.Flags()
	set.SortFlags = false
	set.StringVar(&f.listen, "listen", "", "wait at this ADDRESS for the other end")
	set.StringVar(&f.connect, "connect", "", "the ADDRESS where the other end listens")
	set.StringVar(&f.test, "test", "latency", "latency, stream (as much as there is room for) or wake (of a receiver that sleeps)")
	set.StringVar(&f.op, "op", "send", strings.Join(opNames(), ", "))
	set.StringVar(&f.qp, "qp", "rc", "rc, uc or ud")
	set.IntVar(&f.spec.Size, "size", 64, "bytes of a message")
	set.IntVar(&f.spec.Iters, "iters", 1000, "messages, or round trips")
	set.IntVar(&f.spec.Batch, "batch", 1, "round trips that are timed together")
	set.IntVar(&f.spec.Chain, "chain", 1, "requests that one call posts, of a stream")
	set.IntVar(&f.spec.Depth, "depth", 0, "messages of a stream that are under way; by size without it")
	set.BoolVar(&f.spec.Events, "events", false, "wait asleep, not by polling")
	set.BoolVar(&f.spec.Check, "check", false, "compare all bytes with what was sent")
	set.DurationVar(&f.spec.Timeout, "timeout", 30*time.Second, "how long all of it may take, and how long to wait for who listens")
	set.BoolVar(&f.ibverbs, "ibverbs", false, "the other end is rdma-core's ibv_rc_pingpong or its like, with the same size (4096, of ud 1024) and iters")
	set.BoolVar(&f.json, "json", false, "write one JSON object")
	return cmd
}

// operations are the values of --op, in the order in which they are shown.
func operations() []verbs.Op {
	return []verbs.Op{
		verbs.OpSend, verbs.OpSendImm, verbs.OpWrite, verbs.OpWriteImm, verbs.OpRead, verbs.OpFetchAdd, verbs.OpCompareSwap,
	}
}

// opNames are as the operations are called, in the way of flags.
func opNames() (names []string) {
	for _, op := range operations() {
		names = append(names, opName(op))
	}
	return names
}

func opName(op verbs.Op) string {
	name := strings.ReplaceAll(strings.ToLower(op.String()), "_", "-")
	return strings.NewReplacer("-with-imm", "-imm", "-and-", "-").Replace(name)
}

// fill reads what is said by names into the spec.
func (f *pingPongFlags) fill() (err error) {
	at := slices.Index(opNames(), f.op)
	if at < 0 {
		return usagef("--op %s: want %s", f.op, strings.Join(opNames(), ", "))
	}
	service := slices.Index([]string{"", "rc", "uc", "ud"}, f.qp)
	if service < 1 {
		return usagef("--qp %s: want rc, uc or ud", f.qp)
	}
	if f.listen != "" && f.connect != "" {
		return usagef("--listen and --connect are of two ends")
	}
	if f.test == string(perf.Socket) {
		return usagef("--test %s: want latency, stream or wake", f.test)
	}
	if f.ibverbs && (f.op != "send" || f.test != string(perf.Latency) || f.spec.Iters < 2 || f.listen == "" && f.connect == "") {
		return usagef("--ibverbs wants --listen or --connect, and has two or more messages sent and answered")
	}
	f.spec.Op, f.spec.Service, f.spec.Test = operations()[at], verbs.QPType(service), perf.Test(f.test)
	if f.spec.Assume, err = assumptions(f.assume); err != nil {
		return err
	}
	if _, err := f.spec.Filled(); err != nil {
		return &usageError{err}
	}
	return nil
}

func (a *app) pingPong(ctx context.Context, f pingPongFlags) (err error) {
	if err := f.fill(); err != nil {
		return err
	}
	d, err := f.find()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	e, err := perf.Open(d, f.provider+"/"+d.Name())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	switch {
	case f.ibverbs:
		err = a.pingPongProgram(ctx, e, f)
	case f.listen != "":
		err = a.pingPongServe(ctx, e, f)
	case f.connect != "":
		err = a.pingPongConnect(ctx, e, f)
	default:
		err = a.pingPongAlone(ctx, e, d, f)
	}
	return err
}

// split gives the parts of an ADDRESS that package net knows.
func split(address string) (network, rest string) {
	if path, ok := strings.CutPrefix(address, "unix:"); ok {
		return "unix", path
	}
	return "tcp", address
}

// pingPongServe waits for the other end, and does what it asks for until it goes.
func (a *app) pingPongServe(ctx context.Context, e *perf.End, f pingPongFlags) error {
	conn, err := a.accept(ctx, f.listen)
	if err != nil {
		return err
	}
	l := perf.NewLink(ctx, conn)
	defer l.Close()
	var failed error
	err = l.Serve(e, func(r perf.Result) { failed = errors.Join(failed, a.pingPongResult(r, f)) })
	return errors.Join(err, failed)
}

// accept waits for one who connects.
func (a *app) accept(ctx context.Context, at string) (net.Conn, error) {
	network, address := split(at)
	listener, err := net.Listen(network, address)
	if err != nil {
		return nil, err
	}
	defer listener.Close()
	defer context.AfterFunc(ctx, func() { listener.Close() })() //nolint:errcheck // who waits is told
	fmt.Fprintf(a.err, "listening at %v\n", listener.Addr())
	conn, err := listener.Accept()
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return nil, cause
	}
	return conn, err
}

// programSize is how long messages of rdma-core's programs are where they are not
// told.
func (f *pingPongFlags) programSize() int {
	if f.qp == "ud" {
		return 1024
	}
	return 4096
}

// pingPongProgram has one of rdma-core's programs as the other end.
func (a *app) pingPongProgram(ctx context.Context, e *perf.End, f pingPongFlags) (err error) {
	var conn net.Conn
	if f.listen != "" {
		conn, err = a.accept(ctx, f.listen)
	} else {
		conn, err = dialPatiently(ctx, f.connect, f.spec.Timeout)
	}
	if err != nil {
		return err
	}
	r, err := e.PingPong(ctx, conn, f.spec, f.connect != "")
	if err != nil {
		return err
	}
	return a.pingPongResult(r, f)
}

func (a *app) pingPongConnect(ctx context.Context, e *perf.End, f pingPongFlags) error {
	conn, err := dialPatiently(ctx, f.connect, f.spec.Timeout)
	if err != nil {
		return err
	}
	l := perf.NewLink(ctx, conn)
	defer l.Close()
	r, err := l.Run(e, f.spec)
	if err != nil {
		return err
	}
	return a.pingPongResult(r, f)
}

// dialPatiently waits until somebody listens: the ends may be started in any
// order.
func dialPatiently(ctx context.Context, to string, patience time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	network, address := split(to)
	for {
		var d net.Dialer
		conn, err := d.DialContext(ctx, network, address)
		if err == nil {
			return conn, nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil, err
		}
	}
}

// pingPongAlone has both ends in this process, on one device.
func (a *app) pingPongAlone(ctx context.Context, e *perf.End, d verbs.Device, f pingPongFlags) (err error) {
	other, err := perf.Open(d, f.provider+"/"+d.Name())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, other.Close()) }()
	here, there := net.Pipe()
	l, served := perf.NewLink(ctx, here), perf.NewLink(ctx, there)
	done := make(chan struct{})
	go func() {
		defer close(done)
		served.Serve(other, func(perf.Result) {}) //nolint:errcheck // this end is told
	}()
	r, err := l.Run(e, f.spec)
	l.Close() //nolint:errcheck // all is said
	<-done
	served.Close() //nolint:errcheck // as above
	if err != nil {
		return err
	}
	return a.pingPongResult(r, f)
}
