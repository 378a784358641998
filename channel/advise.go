package channel

import (
	"cmp"
	"fmt"
	"slices"

	"heddle/verbs"
)

// Requirements are what a program needs of a channel. The zero value needs
// nothing but that messages come.
type Requirements struct {
	// Blocking: the receiver sleeps until a message comes, and uses no CPU.
	Blocking bool
	// ZeroCopySend and ZeroCopyRecv: messages go out from where they are, and come
	// to where they are to be.
	ZeroCopySend, ZeroCopyRecv bool
	// Variable: messages differ in length, and the receiver's memory is used as
	// they are long.
	Variable bool
	// PassiveSender and PassiveReceiver: the side posts nothing to the device and
	// polls nothing, for a message.
	PassiveSender, PassiveReceiver bool
	// InOrder: messages of a sender come in the order in which they were sent.
	InOrder bool
	// Senders and Readers are how many there are, 1 by default. SharedMemory: the
	// receiver's memory does not grow with the senders.
	Senders, Readers int
	SharedMemory     bool
	// MaxMessage is the longest message, in bytes.
	MaxMessage int
}

// Choice is what Advise says of a kind.
type Choice struct {
	Kind *Kind
	// Excluded is why not; empty for one that fits.
	Excluded []string
	// Reasons are what speaks for it, and what it costs.
	Reasons []string
}

// Fits tells whether the kind does all that is needed.
func (c *Choice) Fits() bool { return len(c.Excluded) == 0 }

// Advise looks at all kinds: first those that fit, the best one first, which has
// the shortest way, and of these the fewest requests; then the others.
func Advise(req Requirements, caps verbs.Caps) []Choice {
	req.Senders, req.Readers = max(req.Senders, 1), max(req.Readers, 1)
	var list []Choice
	for _, k := range Kinds() {
		list = append(list, Choice{Kind: k, Excluded: req.excludes(k, &caps), Reasons: req.reasons(k)})
	}
	slices.SortStableFunc(list, func(a, b Choice) int {
		return cmp.Or(
			compareBool(b.Fits(), a.Fits()),
			cmp.Compare(req.cost(a.Kind), req.cost(b.Kind)),
			cmp.Compare(len(a.Excluded), len(b.Excluded)),
			cmp.Compare(a.Kind.Number, b.Kind.Number),
		)
	})
	return list
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	default:
		return -1
	}
}

// cost orders the kinds that fit: half round trips count most, then requests, a
// copy as much as a request, a shared memory for many as much as one less.
func (r *Requirements) cost(k *Kind) int {
	cost := 8*k.HRT + 2*(k.SendRequests+k.RecvRequests)
	if k.Batches {
		cost--
	}
	if k.Copying {
		cost += 2
	}
	if r.Senders > 1 && !k.Senders || r.Readers > 1 && !k.Readers {
		cost += 2
	}
	return cost
}

// excludes are the reasons why a kind does not do.
func (r *Requirements) excludes(k *Kind, caps *verbs.Caps) (why []string) {
	if m := k.Missing(caps); m != nil {
		why = append(why, "the device: "+m.lack())
	}
	for _, x := range []struct {
		needed, has bool
		what        string
	}{
		{r.Blocking, k.Blocking, "its receiver cannot sleep until a message comes"},
		{r.ZeroCopySend, k.CopySend != Copies, "its sender copies messages"},
		{r.ZeroCopyRecv, k.CopyRecv != Copies, "messages do not come to where they are to be"},
		{r.Variable, k.Variable, "each message takes the place of the longest"},
		{r.PassiveSender, k.PassiveSender, "its sender posts requests"},
		{r.PassiveReceiver, k.PassiveReceiver, "its receiver posts requests or polls for completions"},
		{r.InOrder, !k.AsDelivered || caps.DeliveryOrder.Holds, "the device delivers messages in any order"},
		{r.SharedMemory && r.Senders > 1, k.Senders, "the receiver's memory grows with the senders"},
	} {
		if x.needed && !x.has {
			why = append(why, x.what)
		}
	}
	if most := k.longest(caps); r.MaxMessage > most && most > 0 {
		why = append(why, fmt.Sprintf("messages have at most %d bytes", most))
	}
	return why
}

// longest is about the longest message that a device lets a kind have; 0 is no
// limit.
func (k *Kind) longest(caps *verbs.Caps) int {
	if caps.MaxMessage == 0 {
		return 0
	}
	return max(caps.MaxMessage-overhead, 1)
}

// reasons are what a kind is chosen for, and what it costs.
func (r *Requirements) reasons(k *Kind) (why []string) {
	why = append(why, fmt.Sprintf("%s, %s of the sender and %s of the receiver for a message",
		counted(k.HRT, "half round trip"), counted(k.SendRequests, "request"), counted(k.RecvRequests, "request")))
	for _, x := range []struct {
		has  bool
		what string
	}{
		{k.Batches, "the receiver's requests are for several messages where they are there together"},
		{k.Blocking, "the receiver can sleep until a message comes"},
		{k.PassiveSender, "the sender only stores into its own memory"},
		{k.PassiveReceiver, "the receiver only reads its own memory"},
		{k.Senders, "many senders share the receiver's memory"},
		{k.Readers, "many readers share the sender's memory"},
		{r.Senders > 1 && !k.Senders, fmt.Sprintf("a channel for each of %d senders: memory %s", r.Senders, k.Memory)},
		{r.Readers > 1 && !k.Readers, fmt.Sprintf("a channel for each of %d readers: each message is sent as often", r.Readers)},
		{k.Variable, "memory is used as messages are long"},
		{k.Copying, "messages are copied once after they came"},
		{len(k.Needs.Orders) == 0, "relies on no order that a network may not have"},
	} {
		if x.has {
			why = append(why, x.what)
		}
	}
	return why
}

func counted(n int, what string) string {
	switch n {
	case 0:
		return "no " + what
	case 1:
		return "1 " + what
	default:
		return fmt.Sprintf("%d %ss", n, what)
	}
}
