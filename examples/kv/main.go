// Command kv is a key-value server and its client, over a channel of a kind that a
// flag picks: ring-bell looks into memory for a request, ring-imm and send are told
// of one by the device. It puts keys, gets them again, and prints how many
// operations a second that were.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"heddle/channel"
	"heddle/verbs/shm"
)

func main() {
	kind := flag.String("channel", "ring-bell", "the `kind`: ring-bell, ring-imm or send")
	n := flag.Int("n", 20000, "how many keys are put and got")
	flag.Parse()
	if err := run(context.Background(), *kind, *n, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run has a server and a client talk over a duplex, whose messages carry the
// credits of the other direction.
func run(ctx context.Context, name string, n int, out io.Writer) error {
	kind, err := channel.Find(name)
	if err != nil {
		return err
	}
	server, err := duplex(kind)
	if err != nil {
		return err
	}
	client, err := duplex(kind)
	if err != nil {
		return err
	}
	if err := channel.JoinDuplex(ctx, server, client); err != nil {
		return err
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- channel.Serve(serving, server.Receiver(), server.Sender(), store{}.answer) }()
	caller := channel.NewCaller(client.Sender(), client.Receiver())
	began := time.Now()
	err = use(ctx, caller, n)
	took := time.Since(began)
	stats := client.Sender().Stats()
	stop()
	if e := <-served; !errors.Is(e, context.Canceled) {
		err = errors.Join(err, e)
	}
	err = errors.Join(err, caller.Close(), server.Close())
	if err == nil {
		_, err = fmt.Fprintf(out, "%s: %d operations, %.0f a second; %d requests for room, %d told by messages\n",
			name, 2*n, float64(2*n)/took.Seconds(), stats.Credits, stats.Carried)
	}
	return err
}

// use puts keys and gets them.
func use(ctx context.Context, c *channel.Caller, n int) error {
	for i := range n {
		if _, err := c.Call(ctx, fmt.Appendf(nil, "put key%d=value%d", i, i)); err != nil {
			return err
		}
	}
	for i := range n {
		got, err := c.Call(ctx, fmt.Appendf(nil, "get key%d", i))
		if err != nil {
			return err
		}
		if want := fmt.Sprintf("value%d", i); string(got) != want {
			return fmt.Errorf("key%d is %q, want %q", i, got, want)
		}
	}
	return nil
}

// store is what the server has.
type store map[string]string

// answer answers "put key=value" and "get key".
func (s store) answer(_ context.Context, request, reply []byte) ([]byte, error) {
	verb, rest, _ := bytes.Cut(request, []byte(" "))
	key, value, assigned := bytes.Cut(rest, []byte("="))
	switch {
	case string(verb) == "put" && assigned:
		s[string(key)] = string(value)
		return reply, nil
	case string(verb) == "get":
		v, ok := s[string(key)]
		if !ok {
			return nil, fmt.Errorf("there is no %s", key)
		}
		return append(reply, v...), nil
	default:
		return nil, fmt.Errorf("what is %q?", request)
	}
}

// duplex makes one side, on shared memory.
func duplex(kind *channel.Kind) (*channel.Duplex, error) {
	devices, err := shm.Provider{}.Devices()
	if err != nil {
		return nil, err
	}
	dev, err := devices[0].Open()
	if err != nil {
		return nil, err
	}
	t, err := channel.NewTransport(dev)
	if err != nil {
		return nil, err
	}
	return t.NewDuplex(kind, channel.Config{})
}
