// Command broadcast sends a log to several readers, who READ it out of a ring of
// the sender's: the sender posts no request, however many they are. One of them is
// slow. The sender waits for it, until it has waited for too long: then it takes the
// ring from that reader, which learns that it has lost lines, and goes on with the
// others.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"heddle/channel"
	"heddle/verbs/shm"
)

const (
	lines   = 4000
	readers = 3
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run sends the log; the last reader is the slow one.
func run(ctx context.Context, out io.Writer) error {
	kind, err := channel.Find("cast-bell")
	if err != nil {
		return err
	}
	home, err := transport()
	if err != nil {
		return err
	}
	log, err := home.NewSender(kind, channel.Config{Ring: 16 << 10, Evict: 100 * time.Millisecond})
	if err != nil {
		return err
	}
	defer log.Close()
	stop := make(chan struct{}) // of the slow reader's pause
	var all sync.WaitGroup
	reports := make([]string, readers+1)
	for i := range reports {
		r, err := reader(ctx, kind, log)
		if err != nil {
			return err
		}
		pause := stop
		if i < readers {
			pause = nil
		}
		all.Go(func() {
			defer r.Close()
			reports[i] = follow(ctx, r, pause)
		})
	}
	for i := range lines {
		if err := log.Send(ctx, fmt.Appendf(nil, "line %d", i)); err != nil {
			return err
		}
	}
	close(stop)
	all.Wait()
	for i, report := range reports {
		if _, err := fmt.Fprintf(out, "reader %d: %s\n", i, report); err != nil {
			return err
		}
	}
	s := log.Stats()
	_, err = fmt.Fprintf(out, "the log: %d lines, %d requests for them\n", s.Messages, s.Credits)
	return err
}

// reader makes one more, on a transport of its own.
func reader(ctx context.Context, kind *channel.Kind, log *channel.Sender) (*channel.Receiver, error) {
	t, err := transport()
	if err != nil {
		return nil, err
	}
	r, err := t.NewReceiver(kind, channel.Config{})
	if err != nil {
		return nil, err
	}
	return r, channel.Join(ctx, log, r)
}

// follow reads the log to its end; a slow one reads a line, and then nothing until
// its pause is over.
func follow(ctx context.Context, r *channel.Receiver, pause <-chan struct{}) string {
	for n := 0; ; n++ {
		m, err := r.Receive(ctx)
		if errors.Is(err, channel.ErrLagged) {
			return fmt.Sprintf("evicted after %d lines: too slow", n)
		}
		if err != nil {
			return fmt.Sprintf("%d lines, and then %v", n, err)
		}
		ok := string(m.Bytes()) == fmt.Sprintf("line %d", n)
		m.Release()
		if !ok {
			return fmt.Sprintf("line %d is not there", n)
		}
		if n == lines-1 {
			return fmt.Sprintf("all %d lines", lines)
		}
		if pause != nil {
			<-pause
		}
	}
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
