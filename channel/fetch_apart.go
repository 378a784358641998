package channel

// apart is a receiver that learns how long messages are before it READs them: it
// READs several at once, each to where it is to be.
type apart struct {
	fetchReader
	news  news
	asked uint64  // those before it are being READ
	ways  []way   // of the messages from seq to asked
	into  *region // the caller's, where that is what seq is READ to
}

// news is how it learns of them.
type news interface {
	// look looks for more messages; it is an error if none can come.
	look() error
	// length is that of a message; false if it is not known yet.
	length(number uint64) (n int, ok bool)
}

// way is a READ of a message of n bytes.
type way struct {
	read uint64
	n    int
}

func (r *apart) attach(p *Peer, h *hello) error {
	err := r.fetchReader.attach(p, h, false)
	if err == nil {
		r.ways = make([]way, r.room)
	}
	return err
}

func (r *apart) poll(d *delivery) error {
	if r.peer == nil {
		return ErrWouldBlock
	}
	// What is here goes first: looking for more costs time.
	if n, err := r.came(); err == nil {
		*d = r.deliver(n)
		return nil
	}
	err := r.news.look()
	for err == nil && !r.full(r.asked) {
		n, ok := r.news.length(r.asked)
		if !ok {
			break
		}
		err = r.fetch(r.local, r.place(r.asked), n)
	}
	n, missing := r.came()
	switch {
	case missing == nil:
		*d = r.deliver(n)
		return nil
	case err == nil || blocked(err):
		err = missing
	}
	return err
}

// fetch READs the next message to a place.
func (r *apart) fetch(into *region, offset, n int) error {
	if n > r.size {
		return r.spoilt("a message of %d bytes in a slot of %d", n, r.size)
	}
	w := &r.ways[r.asked%r.room]
	*w = way{n: n}
	if n > 0 {
		if err := r.read(into, offset, r.slots, r.asked%r.count*r.stride, n); err != nil {
			return err
		}
		w.read = r.peer.posted
	}
	r.asked++
	return nil
}

// came gives the length of the message that is next, if it is here.
func (r *apart) came() (int, error) {
	if r.asked == r.seq {
		return 0, ErrWouldBlock
	}
	w := &r.ways[r.seq%r.room]
	if ok, err := r.arrived(w.read); !ok {
		return 0, wouldBlock(err)
	}
	return w.n, nil
}

// receiveInto gives the next message to memory of the caller's, which has n bytes.
// What poll has READ before is copied.
func (r *apart) receiveInto(to *region, offset, n int) (int, error) {
	if r.peer == nil {
		return 0, ErrWouldBlock
	}
	if r.asked == r.seq {
		if err := r.ask(to, offset, n); err != nil {
			return 0, err
		}
	}
	got, err := r.came()
	if err != nil {
		return 0, err
	}
	if got > n {
		return 0, &LengthError{got, n}
	}
	d := r.deliver(got)
	if r.into == nil {
		r.end.copied += copy(to.b[offset:], d.data)
	}
	r.into = nil
	r.release(d.token)
	return got, nil
}

// ask has the next message READ to memory of the caller's.
func (r *apart) ask(to *region, offset, most int) error {
	if err := r.news.look(); err != nil {
		return err
	}
	n, ok := r.news.length(r.seq)
	switch {
	case !ok || r.full(r.seq):
		return ErrWouldBlock
	case n > most:
		return &LengthError{n, most}
	}
	err := r.fetch(to, offset, n)
	if err == nil {
		r.into = to
	}
	return err
}

// holds tells whether memory of the caller's is the device's now.
func (r *apart) holds() bool { return r.into != nil }

// waiting tells whether a READ is to be waited for.
func (r *apart) waiting() bool { return r.asked > r.seq || r.number != 0 }
