package channel_test

import (
	"context"
	"fmt"
	"log"

	"heddle/channel"
	"heddle/verbs/shm"
)

// Two ends in one process, over shared memory. Between processes the hellos of
// Invite go over a Link.
func Example() {
	ctx := context.Background()
	t, err := transport()
	if err != nil {
		log.Fatal(err)
	}
	kind, err := channel.Find("ring-bell")
	if err != nil {
		log.Fatal(err)
	}
	r, err := t.NewReceiver(kind, channel.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	s, err := t.NewSender(kind, channel.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	if err := channel.Join(ctx, s, r); err != nil {
		log.Fatal(err)
	}

	lease, err := s.Reserve(ctx, 100)
	if err != nil {
		log.Fatal(err)
	}
	if err := lease.Commit(copy(lease.Bytes(), "news from the loom")); err != nil {
		log.Fatal(err)
	}
	m, err := r.Receive(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer m.Release()
	fmt.Printf("%s\n", m.Bytes())
	// Output: news from the loom
}

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

// A receiver that sleeps, on a network whose WRITEs carry no immediate.
func ExampleAdvise() {
	caps, err := capsOf("iwarp")
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range channel.Advise(channel.Requirements{Variable: true, Blocking: true}, caps) {
		switch c.Kind.Name {
		case "ring-send":
			fmt.Println(c.Kind.Name, c.Fits())
		case "ring-imm":
			fmt.Println(c.Kind.Name, c.Fits(), c.Excluded)
		}
	}
	// Output:
	// ring-send true
	// ring-imm false [the device: WRITE_WITH_IMM is not there]
}
