// Command grpc is gRPC over RDMA: google.golang.org/grpc as it is, over the
// net.Listener and the net.Conn of package channel. It calls the health service that
// comes with grpc, once and as a stream, and a service of its own with
// streams both ways, whose messages are bytes.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"heddle/channel"
	"heddle/verbs/shm"
)

const (
	calls  = 2000
	pieces = 64
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run serves, dials, and calls.
func run(ctx context.Context, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "heddle-grpc")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	address := filepath.Join(dir, "socket")
	server, state, err := serve(address)
	if err != nil {
		return err
	}
	defer server.Stop()
	conn, err := dial(address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	for _, step := range []func(context.Context, *grpc.ClientConn, *health.Server, io.Writer) error{check, watch, echo} {
		if err := step(ctx, conn, state, out); err != nil {
			return err
		}
	}
	return nil
}

// serve has a server listen over shared memory; the Unix socket is for what both
// sides have to tell each other first, and is how one learns that the other died.
func serve(address string) (*grpc.Server, *health.Server, error) {
	t, err := transport()
	if err != nil {
		return nil, nil, err
	}
	l, err := net.Listen("unix", address)
	if err != nil {
		return nil, nil, err
	}
	server, state := grpc.NewServer(grpc.ForceServerCodecV2(codec())), health.NewServer()
	healthpb.RegisterHealthServer(server, state)
	server.RegisterService(&echoService, nil)
	go func() { _ = server.Serve(t.ListenConn(l, channel.LinkConfig{}, nil)) }() // Stop ends it
	return server, state, nil
}

// dial makes a client whose connections are channels.
func dial(address string) (*grpc.ClientConn, error) {
	t, err := transport()
	if err != nil {
		return nil, err
	}
	return grpc.NewClient("passthrough:///"+address,
		grpc.WithTransportCredentials(insecure.NewCredentials()), // of the channel: see channel.LinkConfig for a secret
		grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return t.DialConn(ctx, "unix", address, channel.LinkConfig{})
		}))
}

// check makes unary calls.
func check(ctx context.Context, conn *grpc.ClientConn, _ *health.Server, out io.Writer) error {
	client := healthpb.NewHealthClient(conn)
	began := time.Now()
	for range calls {
		r, err := client.Check(ctx, &healthpb.HealthCheckRequest{})
		if err != nil {
			return err
		}
		if r.GetStatus() != healthpb.HealthCheckResponse_SERVING {
			return fmt.Errorf("the server is %v", r.GetStatus())
		}
	}
	fmt.Fprintf(out, "unary: %d calls, %v each\n", calls, (time.Since(began) / calls).Round(100*time.Nanosecond))
	return nil
}

// watch reads a stream of the server's.
func watch(ctx context.Context, conn *grpc.ClientConn, state *health.Server, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := healthpb.NewHealthClient(conn).Watch(ctx, &healthpb.HealthCheckRequest{})
	if err != nil {
		return err
	}
	for _, want := range []healthpb.HealthCheckResponse_ServingStatus{
		healthpb.HealthCheckResponse_SERVING, healthpb.HealthCheckResponse_NOT_SERVING,
	} {
		state.SetServingStatus("", want)
		r, err := stream.Recv()
		if err != nil {
			return err
		}
		if r.GetStatus() != want {
			return fmt.Errorf("the server is %v, want %v", r.GetStatus(), want)
		}
		fmt.Fprintf(out, "watch: the server is %v\n", want)
	}
	return nil
}

// echo sends pieces by a stream, of 64 KiB each, and reads them again.
func echo(ctx context.Context, conn *grpc.ClientConn, _ *health.Server, out io.Writer) error {
	stream, err := conn.NewStream(ctx, &echoService.Streams[0], "/heddle.Echo/Echo", grpc.ForceCodecV2(codec()))
	if err != nil {
		return err
	}
	sent := make(chan error, 1)
	go func() { sent <- send(stream) }()
	n := 0
	for {
		var b []byte
		err := stream.RecvMsg(&b)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if len(b) != 64<<10 || b[0] != byte(n) || b[len(b)-1] != byte(n) {
			return fmt.Errorf("piece %d came back as %d other bytes", n, len(b))
		}
		n++
	}
	fmt.Fprintf(out, "echo: %d pieces of 64 KiB each way\n", n)
	return <-sent
}

func send(stream grpc.ClientStream) error {
	for i := range pieces {
		b := make([]byte, 64<<10)
		b[0], b[len(b)-1] = byte(i), byte(i)
		if err := stream.SendMsg(b); err != nil {
			return err
		}
	}
	return stream.CloseSend()
}

// transport opens shared memory.
func transport() (*channel.Transport, error) {
	devices, err := shm.Provider{}.Devices()
	if err != nil {
		return nil, err
	}
	dev, err := devices[0].Open()
	if err != nil {
		return nil, err
	}
	return channel.NewTransport(dev)
}
