//go:build linux && (amd64 || arm64)

package ibv

import (
	"cmp"
	"fmt"
	"syscall"
	"unsafe"

	"github.com/ebitengine/purego"

	"heddle/verbs"
)

// library holds the addresses of libibverbs' functions.
type library struct {
	errnoLocation uintptr // of libc
	barrier       bool    // the kernel makes barriers for us

	getDeviceList, freeDeviceList    uintptr
	openDevice, closeDevice          uintptr
	queryDevice, queryPort           uintptr
	queryGIDEx, queryGIDTable        uintptr
	queryPKey                        uintptr
	allocPD, deallocPD               uintptr
	regMR, regMRIova2, deregMR       uintptr
	regDMABuf                        uintptr
	createChannel, destroyChannel    uintptr
	createCQ, destroyCQ              uintptr
	getCQEvent, ackCQEvents          uintptr
	createQP, modifyQP               uintptr
	queryQP, destroyQP               uintptr
	createSRQ, modifySRQ, destroySRQ uintptr
	createAH, destroyAH              uintptr
	attachMcast, detachMcast         uintptr
	getAsyncEvent, ackAsyncEvent     uintptr
	queryDataInOrder                 uintptr // 0 before rdma-core 40
}

// load loads libibverbs, and finds what is needed of it.
func load(name string) (*library, error) {
	name = cmp.Or(name, "libibverbs.so.1")
	handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, fmt.Errorf("libibverbs, of rdma-core: %w: %w", err, verbs.ErrNoDevice)
	}
	lib := &library{}
	for symbol, at := range lib.symbols() {
		if *at, err = purego.Dlsym(handle, symbol); err != nil {
			return nil, fmt.Errorf("%s is not the libibverbs of rdma-core 44 or newer: %w: %w", name, err, verbs.ErrNoDevice)
		}
	}
	if at, err := purego.Dlsym(handle, "ibv_query_qp_data_in_order"); err == nil {
		lib.queryDataInOrder = at
	}
	if lib.errnoLocation, err = purego.Dlsym(purego.RTLD_DEFAULT, "__errno_location"); err != nil {
		return nil, fmt.Errorf("libc: %w: %w", err, verbs.ErrNoDevice)
	}
	lib.barrier = membarrier(membarrierRegister) == nil
	return lib, nil
}

// symbols are the functions that have to be there.
func (l *library) symbols() map[string]*uintptr {
	return map[string]*uintptr{
		"ibv_get_device_list":      &l.getDeviceList,
		"ibv_free_device_list":     &l.freeDeviceList,
		"ibv_open_device":          &l.openDevice,
		"ibv_close_device":         &l.closeDevice,
		"ibv_query_device":         &l.queryDevice,
		"ibv_query_port":           &l.queryPort,
		"_ibv_query_gid_ex":        &l.queryGIDEx,
		"_ibv_query_gid_table":     &l.queryGIDTable,
		"ibv_query_pkey":           &l.queryPKey,
		"ibv_alloc_pd":             &l.allocPD,
		"ibv_dealloc_pd":           &l.deallocPD,
		"ibv_reg_mr":               &l.regMR,
		"ibv_reg_mr_iova2":         &l.regMRIova2,
		"ibv_dereg_mr":             &l.deregMR,
		"ibv_reg_dmabuf_mr":        &l.regDMABuf,
		"ibv_create_comp_channel":  &l.createChannel,
		"ibv_destroy_comp_channel": &l.destroyChannel,
		"ibv_create_cq":            &l.createCQ,
		"ibv_destroy_cq":           &l.destroyCQ,
		"ibv_get_cq_event":         &l.getCQEvent,
		"ibv_ack_cq_events":        &l.ackCQEvents,
		"ibv_create_qp":            &l.createQP,
		"ibv_modify_qp":            &l.modifyQP,
		"ibv_query_qp":             &l.queryQP,
		"ibv_destroy_qp":           &l.destroyQP,
		"ibv_create_srq":           &l.createSRQ,
		"ibv_modify_srq":           &l.modifySRQ,
		"ibv_destroy_srq":          &l.destroySRQ,
		"ibv_create_ah":            &l.createAH,
		"ibv_destroy_ah":           &l.destroyAH,
		"ibv_attach_mcast":         &l.attachMcast,
		"ibv_detach_mcast":         &l.detachMcast,
		"ibv_get_async_event":      &l.getAsyncEvent,
		"ibv_ack_async_event":      &l.ackAsyncEvent,
	}
}

// list gives f the library's list of devices, which is there until f returns.
func (l *library) list(f func([]*ibvDevice) error) error {
	n := new(int32)
	ret, errno := invoke(l, l.getDeviceList, uintptr(unsafe.Pointer(n)))
	first, err := object[*ibvDevice](ret, errno)
	if err != nil {
		return fmt.Errorf("list of RDMA devices: %w: %w", err, verbs.ErrNoDevice)
	}
	defer func() { _, _ = invoke(l, l.freeDeviceList, ret) }() // it returns nothing
	return f(unsafe.Slice(first, *n))
}

func (l *library) devices() (devices []verbs.Device, err error) {
	err = l.list(func(list []*ibvDevice) error {
		for _, d := range list {
			name, err := d.name()
			if err != nil {
				return err
			}
			devices = append(devices, &device{lib: l, name: name})
		}
		return nil
	})
	return devices, err
}

// device is a device by its name: it is looked for when it is opened.
type device struct {
	lib  *library
	name string
}

func (d *device) Name() string { return d.name }

func (d *device) Open() (verbs.Context, error) {
	c, err := d.open()
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (d *device) open() (c *deviceContext, err error) {
	err = d.lib.list(func(list []*ibvDevice) error {
		for _, at := range list {
			name, err := at.name()
			if err != nil {
				return err
			}
			if name != d.name {
				continue
			}
			ret, errno := invoke(d.lib, d.lib.openDevice, ptr(at))
			opened, err := object[ibvContext](ret, errno)
			if err != nil {
				return &verbs.OpError{Verb: "open", Device: d.name, Err: err}
			}
			c, err = newContext(d, at, opened)
			return err
		}
		return &verbs.OpError{Verb: "open", Device: d.name, Err: verbs.ErrNoDevice}
	})
	return c, err
}

// sentinel adds what package verbs calls an error number to it.
func sentinel(err error) error {
	code, ok := err.(syscall.Errno) //nolint:errorlint // as the call returned it
	if !ok {
		return err
	}
	switch code {
	case syscall.EINVAL, syscall.EPERM, syscall.EFAULT, syscall.EMSGSIZE:
		return fmt.Errorf("%w: %w", verbs.ErrInvalid, err)
	case syscall.EOPNOTSUPP, syscall.ENOSYS, syscall.EPROTONOSUPPORT:
		return fmt.Errorf("%w: %w", verbs.ErrNotSupported, err)
	case syscall.ENODEV, syscall.ENXIO, syscall.EIO:
		return fmt.Errorf("%w: %w", verbs.ErrNoDevice, err)
	case syscall.EBUSY:
		return fmt.Errorf("%w: %w", verbs.ErrBusy, err)
	default:
		return err
	}
}
