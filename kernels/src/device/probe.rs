//! Which GPUs this process can use.

use std::sync::OnceLock;

use cudarc::driver::{
    result,
    sys::{self, CUdevice_attribute, CUresult},
};

use super::error::{DeviceError, OLDEST_CAPABILITY, OLDEST_CUDA};

/// A GPU that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Its number for the CUDA driver, from 0, after `CUDA_VISIBLE_DEVICES`.
    pub ordinal: u32,
    /// The driver's name for it, for example "NVIDIA H200".
    pub name: String,
    /// Compute capability, `(major, minor)`.
    pub capability: (i32, i32),
    /// The newest CUDA version the driver speaks, 1000 x major + 10 x minor.
    pub driver: i32,
}

/// Every GPU of this machine with a driver that is new enough, in the driver's order and too old ones included (see
/// [`Device::check`]).
///
/// The first call opens the driver's library and initialises it; its answer holds for the life of the process.
///
/// # Errors
/// [`DeviceError::NoDriver`], [`DeviceError::Stub`], [`DeviceError::OldDriver`], [`DeviceError::NoGpu`], or
/// [`DeviceError::Call`] with the driver's own words when it does not start.
pub fn probe() -> Result<&'static [Device], DeviceError> {
    static FOUND: OnceLock<Result<Vec<Device>, DeviceError>> = OnceLock::new();
    FOUND.get_or_init(look).as_deref().map_err(DeviceError::clone)
}

impl Device {
    /// Whether the embedded kernels run on this GPU.
    ///
    /// # Errors
    /// [`DeviceError::OldGpu`] if they do not.
    pub fn check(&self) -> Result<(), DeviceError> {
        if self.capability < OLDEST_CAPABILITY {
            return Err(DeviceError::OldGpu { name: self.name.clone(), capability: self.capability });
        }
        Ok(())
    }
}

fn look() -> Result<Vec<Device>, DeviceError> {
    // cudarc panics at the first call if there is no library, hence the question beforehand.
    // SAFETY: loading the driver's library runs its initialisers, which is what every CUDA program does.
    if !unsafe { sys::is_culib_present() } {
        return Err(DeviceError::NoDriver);
    }
    // Before cuInit, because a driver that is too old may lack functions that cudarc would look for (and panic).
    let mut driver = 0;
    // SAFETY: the pointer points to a live i32; this function works before cuInit and exists in every driver.
    match unsafe { sys::cuDriverGetVersion(&raw mut driver) } {
        CUresult::CUDA_SUCCESS if driver < OLDEST_CUDA => {
            return Err(DeviceError::OldDriver { found: driver });
        }
        CUresult::CUDA_SUCCESS => {}
        CUresult::CUDA_ERROR_STUB_LIBRARY => return Err(DeviceError::Stub),
        other => other.result().map_err(DeviceError::call("cuDriverGetVersion"))?,
    }
    match result::init() {
        Err(error) if error.0 == CUresult::CUDA_ERROR_NO_DEVICE => return Err(no_gpu()),
        Err(error) if error.0 == CUresult::CUDA_ERROR_STUB_LIBRARY => return Err(DeviceError::Stub),
        other => other.map_err(DeviceError::call("cuInit"))?,
    }
    let count = result::device::get_count().map_err(DeviceError::call("cuDeviceGetCount"))?;
    let devices = (0..count).map(|ordinal| describe(ordinal, driver)).collect::<Result<Vec<_>, _>>()?;
    if devices.is_empty() { Err(no_gpu()) } else { Ok(devices) }
}

fn no_gpu() -> DeviceError {
    DeviceError::NoGpu { visible_devices: std::env::var("CUDA_VISIBLE_DEVICES").ok() }
}

fn describe(ordinal: i32, driver: i32) -> Result<Device, DeviceError> {
    let device = result::device::get(ordinal).map_err(DeviceError::call("cuDeviceGet"))?;
    let attribute = |attribute| {
        // SAFETY: `device` is a device that the driver has just named.
        unsafe { result::device::get_attribute(device, attribute) }
            .map_err(DeviceError::call("cuDeviceGetAttribute"))
    };
    Ok(Device {
        ordinal: ordinal.unsigned_abs(),
        name: result::device::get_name(device).map_err(DeviceError::call("cuDeviceGetName"))?,
        capability: (
            attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            attribute(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ),
        driver,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_driver_is_missing_exactly_where_its_library_is_and_devices_are_numbered() {
        // SAFETY: as in `look`.
        let library = unsafe { sys::is_culib_present() };
        let found = probe();
        assert_eq!(matches!(found, Err(DeviceError::NoDriver)), !library, "{found:?}");
        if let Ok(devices) = found {
            assert!(devices.iter().map(|device| device.ordinal).eq(0..u32::try_from(devices.len()).unwrap()));
            assert!(devices.iter().all(|device| device.driver >= OLDEST_CUDA && !device.name.is_empty()));
        }
        assert_eq!(look().as_deref().map_err(DeviceError::clone), found, "the answer stands");
    }

    #[test]
    fn the_first_generation_that_is_too_old_is_turned_down() {
        let device = |capability| Device { ordinal: 0, name: "GPU".into(), capability, driver: OLDEST_CUDA };
        assert!(device((7, 0)).check().is_err());
        assert!(device((7, 5)).check().is_ok());
        assert!(device((10, 0)).check().is_ok());
    }
}
