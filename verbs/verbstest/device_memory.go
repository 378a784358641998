package verbstest

import (
	"encoding/binary"

	"heddle/verbs"
)

// deviceMR registers new memory of the far device for all.
func (e *env) deviceMR(size int) (*verbs.Memory, verbs.MR) {
	e.Helper()
	mem := e.deviceMemory(size)
	mr, err := e.far.pd.RegisterMR(mem, everything)
	e.must("MR of device memory", err)
	e.closing(rankMR, "MR", mr.Close)
	return mem, mr
}

func (e *env) deviceMemory(size int) *verbs.Memory {
	e.Helper()
	alloc, ok := e.far.pd.(verbs.DeviceMemoryAllocator)
	if !ok {
		e.Fatal("Caps have device memory, the PD is no DeviceMemoryAllocator")
	}
	mem, err := alloc.AllocDM(size)
	e.must("device memory", err)
	e.closing(rankMemory, "device memory", mem.Close)
	return mem
}

// deviceRequest is an operation on memory of the far device.
func deviceRequest(op verbs.Op, at verbs.SGE, mr verbs.MR, offset int) verbs.SendWR {
	return verbs.SendWR{ID: 31, Op: op, SGEs: []verbs.SGE{at}, RemoteAddr: mr.Addr() + uint64(offset), RKey: mr.RKey()}
}

// deviceAccess has a peer write and read all of a device's memory.
func deviceAccess(e *env) {
	_, mr := e.deviceMR(4096)
	if mr.Len() != 4096 || mr.Memory().Size() != 4096 || mr.SGE(8, 16).Addr != mr.Addr()+8 {
		e.Errorf("an MR of device memory has %d bytes from %#x on", mr.Len(), mr.Addr())
	}
	a, _ := e.pair(verbs.RC)
	local := a.memory(8192)
	data := e.noise(4096)
	local.store(0, data)
	a.do(deviceRequest(verbs.OpWrite, local.SGE(0, 4096), mr, 0))
	a.do(deviceRequest(verbs.OpRead, local.SGE(4096, 4096), mr, 0))
	if !local.equal(4096, data) {
		e.Error("READ of device memory has other bytes than the WRITE")
	}
}

// deviceCopies has the CPU's copies and a peer's requests see each other, and
// nothing beside them change.
func deviceCopies(e *env) {
	mem, mr := e.deviceMR(256)
	a, _ := e.pair(verbs.RC)
	local := a.memory(4096)
	data, got := e.noise(256), make([]byte, 256)
	_, err := mem.WriteAt(data, 0)
	e.must("copy to device memory", err)
	a.do(deviceRequest(verbs.OpRead, local.SGE(0, 256), mr, 0))
	if !local.equal(0, data) {
		e.Error("a peer reads other bytes than were copied")
	}
	part := e.noise(16)
	local.store(512, part)
	a.do(deviceRequest(verbs.OpWrite, local.SGE(512, 8), mr, 40))
	_, err = mem.WriteAt(part[8:13], 101)
	e.must("copy to device memory", err)
	copy(data[40:], part[:8])
	copy(data[101:], part[8:13])
	_, err = mem.ReadAt(got, 0)
	e.must("copy from device memory", err)
	if string(got) != string(data) {
		e.Error("copied from device memory are other bytes than a peer and a copy wrote")
	}
	if _, err = mem.ReadAt(got[:3], 5); err != nil || string(got[:3]) != string(data[5:8]) {
		e.Errorf("3 bytes of device memory at 5: %x, want %x, %v", got[:3], data[5:8], err)
	}
}

// deviceAtomics has a peer add to a word of it.
func deviceAtomics(e *env) {
	mem, mr := e.deviceMR(64)
	a, _ := e.pair(verbs.RC)
	local := a.memory(64)
	_, err := mem.WriteAt(binary.NativeEndian.AppendUint64(nil, 40), 16)
	e.must("copy to device memory", err)
	for i := range uint64(3) {
		wr := deviceRequest(verbs.OpFetchAdd, local.SGE(0, 8), mr, 16)
		wr.Swap = 2
		a.do(wr)
		if old := local.word(0); old != 40+2*i {
			e.Errorf("FETCH_AND_ADD number %d gives %d, want %d", i, old, 40+2*i)
		}
	}
	word := make([]byte, 8)
	_, err = mem.ReadAt(word, 16)
	e.must("copy from device memory", err)
	if got := binary.NativeEndian.Uint64(word); got != 46 {
		e.Errorf("the word is %d, want 46", got)
	}
}

// deviceBounds goes beyond what there is.
func deviceBounds(e *env) {
	alloc, ok := e.far.pd.(verbs.DeviceMemoryAllocator)
	if !ok || e.far.attr.MaxDM < 256 {
		e.Fatalf("Caps have device memory, of %d bytes", e.far.attr.MaxDM)
	}
	for _, size := range []int{-1, 0, e.far.attr.MaxDM + 1} {
		_, err := alloc.AllocDM(size)
		e.wants("device memory of a wrong size", err, verbs.ErrInvalid)
	}
	mem, mr := e.deviceMR(256)
	for _, off := range []int64{-1, 249, 256, 1 << 40} {
		_, err := mem.WriteAt(make([]byte, 8), off)
		e.wants("copy beyond device memory", err, verbs.ErrInvalid)
		_, err = mem.ReadAt(make([]byte, 8), off)
		e.wants("copy from beyond device memory", err, verbs.ErrInvalid)
	}
	data, got := e.noise(256), make([]byte, 256)
	_, err := mem.WriteAt(data, 0)
	e.must("copy to device memory", err)
	a, _ := e.pair(verbs.RC)
	local := a.memory(64)
	a.post(deviceRequest(verbs.OpWrite, local.SGE(0, 8), mr, 252))
	a.sends.fails(31, verbs.StatusRemoteAccess)
	a.is(verbs.Err)
	if _, err = mem.ReadAt(got, 0); err != nil || string(got) != string(data) {
		e.Errorf("a WRITE over the end changed device memory, or %v", err)
	}
}

// deviceBusy closes device memory with MRs.
func deviceBusy(e *env) {
	mem, mr := e.deviceMR(64)
	e.wants("close device memory with an MR", mem.Close(), verbs.ErrBusy)
	e.must("close MR", mr.Close())
	for range 2 {
		e.must("close device memory", mem.Close())
	}
	_, err := mem.ReadAt(make([]byte, 8), 0)
	e.wants("copy from device memory that was closed", err, verbs.ErrClosed)
	_, err = e.far.pd.RegisterMR(mem, everything)
	e.wants("register device memory that was closed", err, verbs.ErrInvalid)
}
