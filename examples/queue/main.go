// Command queue is a queue of work: several producers put tasks into one ring of a
// worker's memory. Each finds its place by a FETCH_AND_ADD of the ring's tail, so
// that the memory does not grow with them, and the worker's side posts nothing.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"heddle/channel"
	"heddle/verbs/shm"
)

const (
	producers = 4
	tasks     = 2500 // of each
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) error {
	kind, err := channel.Find("shared-bell")
	if err != nil {
		return err
	}
	t, err := transport()
	if err != nil {
		return err
	}
	queue, err := t.NewReceiver(kind, channel.Config{Ring: 64 << 10, Peers: producers})
	if err != nil {
		return err
	}
	defer queue.Close()
	began := time.Now()
	failed := make(chan error, producers)
	for range producers {
		s, err := producer(ctx, kind, queue)
		if err != nil {
			return err
		}
		go func() { failed <- errors.Join(produce(ctx, s), s.Close()) }()
	}
	var done [producers]int
	var sum uint64
	for range producers * tasks {
		m, err := queue.Receive(ctx)
		if err != nil {
			return err
		}
		sum += binary.LittleEndian.Uint64(m.Bytes()) // the work
		done[m.Source()]++
		m.Release()
	}
	took := time.Since(began)
	for range producers {
		if err := <-failed; err != nil {
			return err
		}
	}
	s := queue.Stats()
	_, err = fmt.Fprintf(out, "%d tasks of %d producers, %d of each, sum %d\n%.0f tasks a second; %d KiB of the worker's memory for all\n",
		s.Messages, producers, done[0], sum, float64(s.Messages)/took.Seconds(), s.Memory>>10)
	return err
}

// producer makes one more, on a transport of its own.
func producer(ctx context.Context, kind *channel.Kind, queue *channel.Receiver) (*channel.Sender, error) {
	t, err := transport()
	if err != nil {
		return nil, err
	}
	s, err := t.NewSender(kind, channel.Config{})
	if err != nil {
		return nil, err
	}
	return s, channel.Join(ctx, s, queue)
}

// produce makes tasks where they will lie: nothing is copied here.
func produce(ctx context.Context, s *channel.Sender) error {
	for i := range uint64(tasks) {
		l, err := s.Reserve(ctx, 8)
		if err != nil {
			return err
		}
		binary.LittleEndian.PutUint64(l.Bytes(), i)
		if err := l.Commit(8); err != nil {
			return err
		}
	}
	return s.Flush(ctx)
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
